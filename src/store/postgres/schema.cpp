#include "store/postgres/schema.hpp"

#include <fmt/format.h>

#include "store/postgres/postgres.hpp"

namespace store::postgres {

std::string schema_for_people() {
  return fmt::format("{}{}", schema, grants);
}

}  // namespace store::postgres
