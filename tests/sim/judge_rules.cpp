// Whether the scripts make of a slot what the rules in C++ make of it (store/rules/slot), after
// each command.
#include <fmt/format.h>

#include "base/fields.hpp"
#include "judge.hpp"
#include "scripts.hpp"
#include "store/rules/slot.hpp"

namespace sim {
namespace {

namespace rules = store::rules;
namespace scripts = store::redis::scripts;
using State = rules::SlotState::Kind;
using store::redis::Script;

unsigned number_in(std::string_view text) {
  return base::number_in<unsigned>(text).value_or(0);
}

/// As it stands on a server.
rules::SlotState slot_in(std::string_view text) {
  const auto fields = base::fields_of(text);
  const auto field = [&](std::size_t at) {
    return std::string{at < fields.size() ? fields[at] : std::string_view{}};
  };
  rules::SlotState slot{State::none, {number_in(field(1)), number_in(field(2))}};
  if (field(0) == "running") {
    slot.kind = State::running;
    slot.token = field(3);
    slot.before = field(4);
  } else if (field(0) == "open") {
    slot.kind = State::open;
    slot.token = field(3);
  } else if (field(0) == "done") {
    slot.kind = State::done;
    slot.outcome = store::outcome_in(field(3)).value_or(slot.outcome);
    slot.token = field(6);
  }
  return slot;
}

std::string shown(const rules::SlotState& slot) {
  constexpr const char* names[] = {"none", "open", "running", "done"};
  return fmt::format("{} {} {} {} {}", names[static_cast<int>(slot.kind)], slot.runs.attempt,
                     slot.runs.failures, slot.token, slot.before);
}

/// The fence of the run that the slot shows, if it is the last one that was granted; else 0.
store::Fence fence_of(Keyspace& keys, const Words& words, const rules::SlotState& slot) {
  const auto last = find<std::string>(keys, words[6]);
  if (last.content == nullptr) return 0;
  const auto space = last.content->find(' ');
  if (space == std::string::npos || last.content->substr(space + 1) != slot.token) return 0;
  return base::number_in<store::Fence>(last.content->substr(0, space)).value_or(0);
}

/// The slot after the release or the cancel.
rules::SlotState left(const rules::SlotState& before, const Words& words, store::Fence running) {
  using End = store::Parting::SlotEnd;
  const std::string token = token_of(named(words, "id"));
  const std::string end = named(words, "slot_end");
  if (end.empty()) return rules::without_run(before, token);
  const std::string told = named(words, "run_end");
  auto after = rules::after_run(
      before,
      {token,
       {number_in(named(words, "attempt")), number_in(named(words, "failures"))},
       end == "done"     ? End::done
       : end == "failed" ? End::failed
                         : End::open,
       number_in(named(words, "retries")),
       store::outcome_in(told.substr(0, told.find('\t'))).value_or(store::RunOutcome{}),
       base::number_in<store::Fence>(named(words, "fence")).value_or(0),
       0},
      running);
  after.fence = 0;  // as in slot_in()
  return after;
}

/// The slot after a script, by the rules.
rules::SlotState ruled(const rules::SlotState& before, const Script* script, const Words& words,
                       const Reply& reply, store::Fence running) {
  if (script == &scripts::leave) return left(before, words, running);
  if (script == &scripts::enter && reply.elements[0].text == "granted") {
    const std::string token = token_of(named(words, "id"));
    const bool again = field(reply, "again").integer == 1;
    return again ? before : rules::with_run(before, token, rules::next_run(before, token));
  }
  const bool told = script == &scripts::raise && (reply.integer == 1 || reply.integer == -2);
  const std::string token = named(words, "token");
  if (!told || rules::is_over(before, token)) return before;
  return rules::with_run(before, token,
                         {number_in(named(words, "attempt")), number_in(named(words, "failures"))});
}

}  // namespace

void Judge::see_rules(Server& server, const std::string& slot, const Script* script,
                      const Words& words, const Reply& reply, Micros now) {
  Keyspace& keys = server.redis.keys(0, now);
  SlotThere there;
  if (const Value* value = keys.find(slot)) {
    there = {slot_in(std::get<std::string>(value->content)), value->ends_ms};
  }
  const auto last = std::exchange(slots_there_[{server.number, slot}], there);
  if (reply.is_error()) return;
  const bool forgotten = last.ends_ms && *last.ends_ms <= keys.now_ms();
  const rules::SlotState before = forgotten ? rules::SlotState{} : last.state;
  const rules::SlotState& after = there.state;
  const auto expected = ruled(before, script, words, reply, fence_of(keys, words, before));
  if (after == expected) return;
  throw Violation{fmt::format("server {} makes '{}' of the slot '{}', where the rules make '{}'",
                              server.number, shown(after), shown(before), shown(expected))};
}

}  // namespace sim
