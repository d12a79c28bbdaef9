#include "store/postgres/schema.hpp"

#include "store/postgres/postgres.hpp"

namespace store::postgres {

std::string schema_for_people() {
  return std::string{schema} + grants;
}

}  // namespace store::postgres
