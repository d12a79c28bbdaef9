// The commands of Redis that touch keys only: strings, lists, sorted sets, expiry.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keyspace.hpp"
#include "resp.hpp"

namespace sim {

/// A command's entry in Redis's own table.
struct CommandRule {
  int arity;  // with the name; negative: at least so many
  bool writes = false;
  bool denied_without_memory = false;  // deny-oom
  bool in_scripts = true;
  Reply (*act)(Keyspace&,
               const Words&) = nullptr;  // nothing: a command of the server, not of its keys
};

/// Nothing if the double does not know it. `name` in any case.
const CommandRule* rule_of(std::string_view name);
bool fits(const CommandRule& rule, const Words& command);

std::string lower(std::string_view text);
/// As Redis reads an integer: no sign '+', no space, no leading zero.
std::optional<std::int64_t> integer_in(std::string_view text);
std::optional<double> real_in(const std::string& text);

/// Those of sorted sets, by name.
const std::vector<std::pair<const char*, CommandRule>>& sorted_set_rules();

/// The places of a range as LRANGE and ZRANGE count them, of so many: from, and behind the last
/// one.
std::pair<std::size_t, std::size_t> bounds(std::int64_t first, std::int64_t last,
                                           std::size_t count);

namespace errors {
inline constexpr auto syntax = "ERR syntax error";
inline constexpr auto not_integer = "ERR value is not an integer or out of range";
inline constexpr auto wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr auto no_memory = "OOM command not allowed when used memory > 'maxmemory'.";
}  // namespace errors

}  // namespace sim
