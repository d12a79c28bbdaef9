// The table of locks, whose rows are the records for the rules.
#pragma once

#include <memory>

#include "store/postgres/database.hpp"
#include "store/records/records.hpp"

namespace store::postgres {

/// Connects on the first request. Makes missing tables when something must be written, if the role
/// may.
std::unique_ptr<records::Records> open_table(const PostgreSql& database);

}  // namespace store::postgres
