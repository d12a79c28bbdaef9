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
    "print the SQL that makes the tables in a PostgreSQL database",
    "rlock makes its tables by itself where its role may create a schema. Where it may\n"
    "not, the owner of the database runs this once, and grants what stands at its end.\n"
    "No server is asked.\n"
    "\n"
    "Examples:\n"
    "  rlock schema postgresql\n"
    "  rlock schema postgresql | psql locks",
    resolve_schema};

}  // namespace cmd
