// The numbers of the rules stand in the scripts of Redis once more: they are the same.
#include <doctest/doctest.h>

#include <regex>

#include "store/redis/scripts.hpp"
#include "store/rules/runs.hpp"
#include "store/rules/slot.hpp"
#include "store/rules/waiting.hpp"

namespace unit::rules_in_lua {
namespace {

using namespace store;
namespace scripts = redis::scripts;

/// The number behind what the pattern describes; 0: it is not there.
std::uint64_t number_in(const redis::Script& script, const std::string& pattern) {
  const std::string body{script.body};
  std::smatch found;
  if (!std::regex_search(body, found, std::regex{pattern + "(\\d+)"})) return 0;
  return std::stoull(found[1]);
}

}  // namespace

TEST_CASE("the scripts have the numbers of the rules") {
  CHECK(number_in(scripts::leave, "local REMEMBERED\\w* = ") == rules::remembered_runs);
  // The newest line is number 0.
  CHECK(number_in(scripts::enter, "'LRANGE', runs, 0, ") + 1 == rules::runs_for_typical_length);
  const auto a_day = rules::remembered_for(rules::SlotState::Kind::running, Millis{0});
  CHECK(number_in(scripts::leave, "local DAY\\w* = ") == static_cast<std::uint64_t>(a_day.count()));
  const std::vector<std::pair<const char*, base::Millis>> times{
      {"local HEARTBEAT_MS *= ", rules::heartbeat},
      {"local STAGGER_MS *= ", rules::stagger},
      {"local MAIL_LIFE_MS *= ", rules::letter_life}};
  for (const auto& [name, time] : times) {
    CAPTURE(name);
    CHECK(number_in(scripts::enter, name) == static_cast<std::uint64_t>(time.count()));
  }
  CHECK(number_in(scripts::enter, "local LOOKING_BEHIND *= ") == rules::looking_behind);
  CHECK(number_in(scripts::enter, "local TOLD_AT_ONCE *= ") == rules::told_at_once);
  CHECK(number_in(scripts::enter, "'ZRANGE', queue, 1, ") == rules::called_at_once);
}

}  // namespace unit::rules_in_lua
