// The end of a connection.
#pragma once

#include "store/postgres/libpq.hpp"

namespace store::postgres {

/// Ends it. If the server still works on a statement, asks it to cancel that first: a backend that
/// waits for a row, a table or a standby does not notice that its client has gone, and each retry
/// would leave another one behind, until max_connections stops everybody. Takes 100 ms at most.
void part(const LibPq& library, PGconn* connection) noexcept;

}  // namespace store::postgres
