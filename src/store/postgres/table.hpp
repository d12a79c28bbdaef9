// The table of locks: its rows are the records that the rules of a lock are kept on.
#pragma once

#include <memory>

#include "store/postgres/database.hpp"
#include "store/records/records.hpp"

namespace store::postgres {

/// Connects with the first question. The tables are made where they are missing and something is to
/// be written, if the role may do that.
std::unique_ptr<records::Records> open_table(const PostgreSql& database);

}  // namespace store::postgres
