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

/// What the release or the cancel makes of the slot.
rules::SlotState left(const rules::SlotState& before, const Words& words) {
  using End = store::Parting::SlotEnd;
  const std::string token = token_of(named(words, "id"));
  const std::string end = named(words, "slot_end");
  if (end.empty()) return rules::without_run(before, token);
  const std::string told = named(words, "run_end");
  return rules::after_run(
      before, {token,
               {number_in(named(words, "attempt")), number_in(named(words, "failures"))},
               end == "done"     ? End::done
               : end == "failed" ? End::failed
                                 : End::open,
               number_in(named(words, "retries")),
               store::outcome_in(told.substr(0, told.find('\t'))).value_or(store::RunOutcome{}),
               0,
               0});
}

/// What a script makes of the slot, by the rules.
rules::SlotState ruled(const rules::SlotState& before, const Script* script, const Words& words,
                       const Reply& reply) {
  if (script == &scripts::leave) return left(before, words);
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
  const auto found = find<std::string>(server.redis.keys(0, now), slot);
  const auto after = found.content == nullptr ? rules::SlotState{} : slot_in(*found.content);
  auto& last = slots_at_[{server.number, slot}];
  const auto before = std::exchange(last, after);
  if (reply.is_error()) return;
  // The server may have lost it since, or forgotten it.
  if (after == ruled(before, script, words, reply)) return;
  if (after == ruled({}, script, words, reply)) return;
  throw Violation{fmt::format("server {} makes '{}' of the slot '{}', where the rules make '{}'",
                              server.number, shown(after), shown(before),
                              shown(ruled(before, script, words, reply)))};
}

}  // namespace sim
