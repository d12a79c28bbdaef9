// rlock schema KIND: what an administrator runs on a server before the first lock.
#include "cmd/commands.hpp"
#include "cmd/present.hpp"
#include "store/backend.hpp"

namespace cmd {
namespace {

Act resolve_schema(const Settings& /*settings*/, const std::vector<std::string>& operands) {
  constexpr const char* known = "postgresql";
  if (operands.size() != 1) {
    throw UsageError{ExitCode::usage,
                     fmt::format("give one kind of server: rlock schema {}", known)};
  }
  auto text = store::schema_of(operands.front());
  if (!text) {
    throw UsageError{ExitCode::usage, fmt::format("no schema for '{}'; there is one for {}",
                                                  shown_word(operands.front()), known)};
  }
  return [text = *std::move(text)] {
    print(text);
    return ExitCode::ok;
  };
}

}  // namespace

const Command schema_command{
    "schema",
    of::schema,
    "schema [OPTIONS] postgresql",
    "print the SQL that creates the tables in PostgreSQL",
    "If rlock's role may create a schema, the first run creates the tables. If not,\n"
    "the owner of the database runs this SQL once, and the GRANTs at its end.\n"
    "\n"
    "Examples:\n"
    "  rlock schema postgresql\n"
    "  rlock schema postgresql | psql locks",
    resolve_schema};

}  // namespace cmd
