#include "store/postgres/postgres.hpp"

#include "store/postgres/table.hpp"

namespace store::postgres {

std::unique_ptr<LockStore> open_store(const PostgreSql& database) {
  return records::open_store([database] { return open_table(database); });
}

std::unique_ptr<LockAdmin> open_admin(const PostgreSql& database) {
  return records::open_admin([database] { return open_table(database); });
}

}  // namespace store::postgres
