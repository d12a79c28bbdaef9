#include "store/postgres/database.hpp"

#include "os/libraries.hpp"
#include "store/postgres/libpq.hpp"

namespace store::postgres {

base::Result<PostgreSql, BadUrl> database_in(const Url& url) {
  if (!url.has_host) return BadUrl{"no '//' after the scheme"};
  PostgreSql database{base::Secret{std::string{url.whole}}};
  if (!os::loads_libraries()) return database;
  const auto& library = libpq();
  if (!library) return BadUrl{library.error()};
  const Options options = options_in(*library, database.url);
  if (!options) return BadUrl{"libpq does not accept it"};
  for (const auto* each = options.get(); each->keyword != nullptr; ++each) {
    if (std::string_view{each->keyword} == "password" && each->val != nullptr) {
      database.has_password = true;
    }
  }
  return database;
}

}  // namespace store::postgres
