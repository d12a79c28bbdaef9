// Replaces this room in builds without libpq's headers. database_in() rejects every URL, so nothing
// else here is ever called.
#include <stdexcept>

#include "store/postgres/postgres.hpp"

namespace store::postgres {

namespace {

constexpr const char* unavailable = "this rlock was built without PostgreSQL";

}  // namespace

base::Result<PostgreSql, BadUrl> database_in(const Url& /*url*/) {
  return BadUrl{unavailable};
}

std::unique_ptr<LockStore> open_store(const PostgreSql& /*database*/) {
  throw std::logic_error{unavailable};
}

std::unique_ptr<LockAdmin> open_admin(const PostgreSql& /*database*/) {
  throw std::logic_error{unavailable};
}

Findings examine(const PostgreSql& /*database*/, const LockName& /*name*/,
                 const CallLimit& /*limit*/) {
  throw std::logic_error{unavailable};
}

}  // namespace store::postgres
