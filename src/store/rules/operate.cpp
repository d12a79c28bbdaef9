// The requests of a holder about its hold, and of operators about a lock.
#include <algorithm>

#include "store/rules/runs.hpp"
#include "store/rules/turns.hpp"
#include "store/rules/waiting.hpp"

namespace store::rules {
namespace {

/// The time since then; nothing: the clock was set back.
std::optional<Millis> age_of(std::uint64_t then_us, std::uint64_t now_us) {
  constexpr std::int64_t tolerated_us = 1'000'000;
  const auto age = static_cast<std::int64_t>(now_us) - static_cast<std::int64_t>(then_us);
  if (age < -tolerated_us) return std::nullopt;
  return Millis{std::max<std::int64_t>(age, 0) / 1000};
}

std::string reason_of(const LockState& state, const Token& holder) {
  if (state.runs.empty()) return {};
  const RememberedRun& last = state.runs.front();
  return last.token == holder && !last.end ? last.reason : std::string{};
}

Holder shown(const Hold& hold, std::uint64_t now_us) {
  const auto now = static_cast<TimeMs>(now_us / 1000);
  return {hold.is_kept(now) ? Holder::Kind::kept : Holder::Kind::holder, hold.token.text(),
          age_of(hold.fence, now_us), Millis{hold.ends - now}};
}

}  // namespace

Decision<Own> decide(LockState& state, const Refresh& request, Facts facts) {
  Turns turns{state, facts};
  Hold* hold = turns.hold_of(request.token);
  if (hold == nullptr) return {state.is_free() ? Own::nobodys : Own::elsewhere};
  const TimeMs ends = turns.now() + request.ttl.length().count();
  const bool sooner = ends < hold->ends;
  hold->ends = ends;
  turns.remember_fence(request.ttl.length());
  if (!state.runs.empty()) state.runs_end = std::max(state.runs_end, state.fence_ends);
  if (sooner) turns.tell_lookers(0);  // a step shortens its lease
  return {Own::ours, turns.take_posts()};
}

Decision<Removal> decide(LockState& state, const ForceRelease& request, Facts facts) {
  Turns turns{state, facts};
  turns.purge();
  std::size_t removed = 0;
  std::vector<Token> listening;
  const bool was_several = state.is_several();
  const TimeMs ended = turns.last_end();
  const RunEnd lost{{RunOutcome::Kind::lost}, "force-released by " + request.by};
  for (const Token& token : request.shown) {
    const bool reserved = state.reservation && state.reservation->token == token;
    const Hold* hold = turns.hold_of(token);
    if (!reserved && hold == nullptr) continue;
    if (hold == nullptr || !hold->is_kept(turns.now())) listening.push_back(token);
    ++removed;
    if (reserved) turns.drop(token, state.reservation->mode);
    if (was_several) {
      std::erase_if(state.holders, [&](const Hold& each) { return each.token == token; });
    }
    (void)turns.end_run(token, lost, {}, std::nullopt);
  }
  if (removed == 0) return {Changed{holder_of(state, facts)}};
  const bool sooner = turns.ends_sooner_than(ended);
  if (state.is_several()) {
    turns.tell_first(confirm_within);
  } else {
    turns.hand_off(confirm_within);
  }
  if (was_several && sooner) turns.tell_lookers(1);
  for (const Token& token : listening) {
    if (request.reply_to.empty()) break;
    turns.write(token.text(), "lost " + request.reply_to + ' ' + request.by);
  }
  return {Removed{}, turns.take_posts()};
}

Decision<std::size_t> decide(LockState& state, const AskToStop& request, Facts facts) {
  Turns turns{state, facts};
  std::size_t asked = 0;
  for (const Token& token : request.whom) {
    const bool waits = std::any_of(state.queue.begin(), state.queue.end(),
                                   [&](const Wait& each) { return each.token == token; });
    if (!waits && turns.hold_of(token) == nullptr) continue;
    const bool heard = turns.write(token.text(), "stop " + request.reply_to + ' ' + request.why);
    if (heard) ++asked;
  }
  return {asked, turns.take_posts()};
}

Decision<base::Done> decide(LockState& state, const LastWordTo& request, Facts facts) {
  Turns turns{state, facts};
  turns.write(request.reply_to, "stopped");
  return {base::Done{}, turns.take_posts()};
}

void settle(LockState& state, Facts facts) {
  (void)Turns{state, facts};
}

std::optional<StillHeld> check(const LockState& state, const Token& token, Facts facts) {
  const auto hold = std::find_if(state.holders.begin(), state.holders.end(),
                                 [&](const Hold& each) { return each.token == token; });
  if (hold == state.holders.end()) return std::nullopt;
  return StillHeld{Millis{hold->ends - static_cast<TimeMs>(facts.now_us / 1000)}, hold->fence};
}

std::optional<Holder> holder_of(const LockState& state, Facts facts) {
  if (state.reservation) {
    const auto now = static_cast<TimeMs>(facts.now_us / 1000);
    return Holder{Holder::Kind::reserved, state.reservation->token.text(), std::nullopt,
                  Millis{state.reservation->ends - now}};
  }
  if (state.holders.empty()) return std::nullopt;
  const Hold& first = state.holders.front();
  Holder holder = shown(first, facts.now_us);
  for (const Hold& each : state.holders) {
    holder.expires_in = std::max(holder.expires_in, shown(each, facts.now_us).expires_in);
  }
  holder.others = state.holders.size() - 1;
  holder.reason = reason_of(state, first.token);
  return holder;
}

std::vector<Run> shown_runs(const LockState& state, TimeMs now, std::size_t most) {
  std::vector<Run> runs;
  for (const RememberedRun& each : state.runs) {
    if (runs.size() == most) break;
    const bool holds = std::any_of(state.holders.begin(), state.holders.end(),
                                   [&](const Hold& hold) { return hold.token == each.token; });
    const Millis ago{std::max<TimeMs>(now - each.granted, 0)};
    Run run{each.token,  each.fence,   ago,
            each.waited, std::nullopt, {holds ? RunOutcome::Kind::running : RunOutcome::Kind::lost},
            {},          each.slot,    each.attempt,
            each.reason};
    if (each.end) {
      run.held = std::min(ago, Millis{std::max<TimeMs>(each.end->at - each.granted, 0)});
      run.outcome = each.end->outcome;
      run.why = each.end->why;
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

LockReport report(const LockName& name, const LockState& state, Facts facts, std::size_t runs) {
  const auto now_ms = static_cast<TimeMs>(facts.now_us / 1000);
  LockReport report{name, std::nullopt, {}, std::nullopt, {}};
  if (state.last_token) report.fence = state.last_fence;
  if (const auto first = holder_of(state, facts)) {
    report.mode = state.reservation ? state.reservation->mode : state.mode;
    if (state.reservation) report.holders.push_back({*first, std::nullopt});
  }
  for (const Hold& each : state.holders) {
    HolderReport one{shown(each, facts.now_us), each.fence, each.permit};
    if (!state.is_several()) one.holder.reason = reason_of(state, each.token);
    report.holders.push_back(std::move(one));
  }
  for (const Wait& each : state.queue) {
    const auto& reservation = state.reservation;
    const bool reserved = reservation && reservation->token == each.token;
    if (reserved || each.believed <= now_ms) continue;
    report.waiters.push_back({each.token, each.mode, age_of(each.ticket, facts.now_us)});
  }
  report.runs = shown_runs(state, now_ms, runs);
  return report;
}

}  // namespace store::rules
