#include "store/sessions/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/fields.hpp"
#include "store/rules/runs.hpp"
#include "store/sessions/queue.hpp"
#include "store/url.hpp"

namespace store::sessions {
namespace {

using Kind = rules::SlotState::Kind;

constexpr std::array<std::pair<Kind, std::string_view>, 3> kinds{
    {{Kind::open, "open"}, {Kind::running, "running"}, {Kind::done, "done"}}};

// A run's text has FENCE, TOKEN, HISTORY, WAITED, SLOT, ATTEMPT, REASON and, once it has ended,
// OUTCOME, WHY and, if its node was made anew then, GRANTED; a slot's has STATE, ATTEMPT, FAILURES,
// HISTORY, TOKEN, OUTCOME, FENCE and, of one that is running, the token of the run BEFORE, if that
// left it open. Fields that a later version appends are passed over.
constexpr std::size_t claimed_fields = 7;
constexpr std::size_t ended_fields = 9;
constexpr std::size_t ended_anew_fields = 10;
constexpr std::size_t slot_fields = 7;

/// Up to a year, which is the longest that can be asked for; what is no such number is none at all.
Millis history_in(std::string_view text) {
  const auto number = base::number_in<std::int64_t>(text).value_or(0);
  return Millis{std::clamp<std::int64_t>(number, 0, Ttl::longest.count())};
}

bool has(const std::vector<Token>& tokens, const Token& token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

/// As it would stand on a server that writes the times itself.
std::string fence_in(const Node& record) {
  const std::string_view fence = base::fields_of(record.text).front();
  return fence == "0" ? std::to_string(record.stat.created_by) : std::string{fence};
}

/// The run of a record; nothing if that makes no sense.
std::optional<Run> run_of(const Node& record, bool holds, std::int64_t now_ms) {
  const auto fields = base::fields_of(record.text);
  if (fields.size() < claimed_fields) return std::nullopt;
  const auto granted_ms =
      fields.size() >= ended_anew_fields
          ? base::number_in<std::int64_t>(fields[9]).value_or(record.stat.created_ms)
          : record.stat.created_ms;
  std::string line = fmt::format("{}\t{}\t{}\t{}\t{}\t{}", fence_in(record), fields[1], granted_ms,
                                 fields[3], fields[4], fields[5]);
  if (fields.size() >= ended_fields) {
    line += fmt::format("\t{}\t{}\t{}", record.stat.written_ms, fields[7], fields[8]);
  }
  line += fmt::format("\t{}", fields[6]);
  return run_in(line, now_ms, holds);
}

}  // namespace

std::string run_node_of(const std::string& runs, std::uint64_t change, const Token& token) {
  return fmt::format("{}/{:016x}-{}", runs, change, nonce_of(token));
}

bool is_run_of(std::string_view node, const Token& token) {
  const auto nonce = nonce_of(token);
  return node.size() > nonce.size() && node.ends_with(nonce) &&
         node[node.size() - nonce.size() - 1] == '-';
}

std::string slot_node_of(const std::string& slots, const Slot& slot) {
  return slots + "/" + percent_encoded(slot.id);
}

// ---- runs ----

std::string text_of_run(Fence fence, const Claim& claim, unsigned attempt) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}", fence, claim.token.text(), claim.history.count(),
                     fields_of_claim(claim.waited, claim.slot ? claim.slot->id : ""),
                     attempt > 0 ? std::to_string(attempt) : "", claim.reason);
}

std::string text_of_ended(const std::string& text, const RunEnd& end) {
  return text + "\t" + fields_of_end(end);
}

std::string text_of_ended_anew(const std::string& text, const RunEnd& end, Fence fence,
                               std::int64_t came_ms) {
  const auto fields = base::fields_of(text);
  if (fields.size() < claimed_fields) return text_of_ended(text, end);
  const auto waited = base::number_in<std::int64_t>(fields[3]).value_or(0);
  const std::string number = fields[0] == "0" ? std::to_string(fence) : std::string{fields[0]};
  return fmt::format("{}\t{}", text_of_ended(number + text.substr(fields[0].size()), end),
                     came_ms + waited);
}

std::vector<Run> runs_in(std::vector<Node> records, const std::vector<Token>& holders,
                         const std::vector<Token>& waiters, std::int64_t now_ms) {
  std::sort(records.begin(), records.end(),
            [](const Node& a, const Node& b) { return a.stat.created_by > b.stat.created_by; });
  std::vector<Run> runs;
  std::int64_t next_began = now_ms;
  for (const Node& record : records) {
    const auto fields = base::fields_of(record.text);
    const Token token = Token::foreign(fields.size() > 1 ? std::string{fields[1]} : "");
    const bool open = fields.size() < ended_fields;
    const bool holds = has(holders, token);
    if (open && !holds && has(waiters, token)) continue;
    // Nobody saw when a lost run ended: at the latest, when the next one began.
    const auto ended_ms = open ? next_began : record.stat.written_ms;
    next_began = record.stat.created_ms;
    const bool goes_on = open && holds;
    const Millis history = fields.size() > 2 ? history_in(fields[2]) : Millis{0};
    if (!goes_on && now_ms - ended_ms > history.count()) continue;
    if (auto run = run_of(record, holds, now_ms)) runs.push_back(*std::move(run));
  }
  return rules::newest_of(std::move(runs));
}

Fence fence_of_run(const Node& run) {
  const std::string fence = fence_in(run);
  return base::number_in<Fence>(fence).value_or(0);
}

bool is_forgotten(const Node& run, std::int64_t now_ms) {
  const auto fields = base::fields_of(run.text);
  return fields.size() >= ended_fields &&
         now_ms - run.stat.written_ms > history_in(fields[2]).count();
}

// ---- slots ----

std::string text_of_slot(const SlotRecord& slot) {
  const auto& state = slot.state;
  const auto name = std::find_if(kinds.begin(), kinds.end(),
                                 [&](auto& each) { return each.first == state.kind; });
  auto text = fmt::format("{}\t{}\t{}\t{}\t{}\t{} {}\t{}", name->second, state.runs.attempt,
                          state.runs.failures, slot.history.count(), state.token,
                          name_of(state.outcome.kind), state.outcome.number, state.fence);
  if (!state.before.empty()) text += '\t' + state.before;
  return text;
}

SlotRecord slot_in(std::string_view text) {
  const auto fields = base::fields_of(text);
  if (fields.size() < slot_fields) return {};
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const auto& each) { return each.second == fields[0]; });
  const auto attempt = base::number_in<unsigned>(fields[1]);
  const auto failures = base::number_in<unsigned>(fields[2]);
  const auto outcome = outcome_in(fields[5]);
  const auto fence = base::number_in<Fence>(fields[6]);
  if (kind == kinds.end() || !attempt || !failures || !outcome || !fence) return {};
  SlotRecord slot{{kind->first, {*attempt, *failures}, std::string{fields[4]}},
                  history_in(fields[3])};
  if (slot.state.is_done()) {
    slot.state.outcome = *outcome;
    slot.state.fence = *fence;
  } else if (fields.size() > slot_fields) {
    slot.state.before = fields[slot_fields];
  }
  return slot;
}

bool is_forgotten(const SlotRecord& slot, std::int64_t written_ms, std::int64_t now_ms) {
  return now_ms - written_ms > rules::remembered_for(slot.state.kind, slot.history).count();
}

}  // namespace store::sessions
