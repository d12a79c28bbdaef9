// The program's scripts, all of them, by name, and what their arguments say.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resp.hpp"
#include "store/redis/scripts.hpp"

namespace sim {

inline const std::vector<std::pair<std::string, const store::redis::Script*>>& all_scripts() {
  namespace scripts = store::redis::scripts;
  static const std::vector<std::pair<std::string, const store::redis::Script*>> all{
      {"enter", &scripts::enter},
      {"leave", &scripts::leave},
      {"renew", &scripts::renew},
      {"raise", &scripts::raise},
      {"check", &scripts::check},
      {"inspect", &scripts::inspect},
      {"force_release", &scripts::force_release},
      {"ask_to_stop", &scripts::ask_to_stop},
      {"tell", &scripts::tell}};
  return all;
}

// Where a script's arguments begin, behind seven keys and the mailbox; and where the key of a slot
// is, if it has one more. The judge has that taken out (see Judge::executed).
inline constexpr std::size_t first_argument = 11;
inline constexpr std::size_t slot_key = 10;

/// Of a script that takes names and values; empty if it is not said.
inline std::string named(const std::vector<std::string>& words, std::string_view name) {
  for (std::size_t i = first_argument; i + 1 < words.size(); i += 2) {
    if (words[i] == name) return words[i + 1];
  }
  return {};
}

/// The value of a name in an answer, or in an array in it, from an element on.
inline const Reply& field(const Reply& reply, std::string_view name, std::size_t first = 1) {
  static const Reply absent;
  for (std::size_t i = first; i + 1 < reply.elements.size(); i += 2) {
    if (reply.elements[i].text == name) return reply.elements[i + 1];
  }
  return absent;
}

/// Of an id, which may begin with a mode.
inline std::string token_of(const std::string& id) {
  const auto space = id.find(' ');
  return space == std::string::npos ? id : id.substr(space + 1);
}

/// user@host:CLIENT/label#...
inline int client_of(const std::string& id) {
  const auto colon = id.find(':');
  int client = 0;
  if (colon != std::string::npos) {
    (void)std::from_chars(id.data() + colon + 1, id.data() + id.size(), client);
  }
  return client;
}

}  // namespace sim
