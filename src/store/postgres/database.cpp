#include "store/postgres/database.hpp"

#include <memory>

#include "os/libraries.hpp"
#include "store/postgres/libpq.hpp"

namespace store::postgres {

const char* unavailable() {
  return nullptr;
}

base::Result<PostgreSql, BadUrl> database_in(const Url& url) {
  if (!url.has_host) return BadUrl{"no '//' after the scheme"};
  PostgreSql database{base::Secret{std::string{url.whole}}};
  if (!os::loads_libraries()) return database;
  const auto& library = libpq();
  if (!library) return BadUrl{library.error()};
  char* why = nullptr;
  PQconninfoOption* const options = library->conninfo_parse(database.url.reveal().c_str(), &why);
  library->free_memory(why);  // it repeats the URL, with its password
  if (options == nullptr) return BadUrl{"libpq does not accept it"};
  for (const auto* each = options; each->keyword != nullptr; ++each) {
    if (std::string_view{each->keyword} == "password" && each->val != nullptr) {
      database.has_password = true;
    }
  }
  library->conninfo_free(options);
  return database;
}

}  // namespace store::postgres
