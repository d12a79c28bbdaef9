// The end of a connection.
#pragma once

#include "store/postgres/libpq.hpp"

namespace store::postgres {

/// Closes the connection. If the server still executes a statement, asks it to cancel that first: a
/// backend that waits for a row, a table or a standby does not notice that its client has gone, and
/// retries would leave more behind, up to max_connections. Takes at most 100 ms.
void part(const LibPq& library, PGconn* connection) noexcept;

}  // namespace store::postgres
