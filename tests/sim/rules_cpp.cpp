// The lock as store/rules has it, in the form of rules_sides.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/result.hpp"
#include "rules_text.hpp"
#include "store/redis/scripts.hpp"

namespace sim {
namespace {

using namespace store;
using redis::queue_id;

std::string text_of(const rules::Entered& entered) {
  return base::match(
      entered,
      [](const rules::Grant& grant) {
        return granted_text(grant.fence, grant.permit, grant.number, grant.again);
      },
      [](const Queued& place) {
        return fmt::format("queued holder=({}) ahead={} ticket={} look_in={} typical={}",
                           holder_text(place.holder), place.ahead, place.ticket,
                           length_text(place.look_in), length_text(place.typical_run));
      },
      [](const Busy& busy) {
        return fmt::format("busy holder=({}) waiting={}", holder_text(busy.holder), busy.waiting);
      },
      [](const ModeConflict& conflict) {
        return "mismatch " + queue_id(conflict.token, conflict.mode);
      },
      [](const SlotDone& done) {
        return fmt::format("done {} {} {} {} {}", done.attempt, store::text_of(done.outcome),
                           done.ended_ago.count(), done.fence, done.by.text());
      },
      [](const rules::NoHigherFence&) { return std::string{"no higher fence"}; });
}

std::string text_of(rules::Own own) {
  return own == rules::Own::ours ? "1" : own == rules::Own::nobodys ? "0" : "-1";
}

std::string text_of(const Removal& removal) {
  const auto* changed = std::get_if<Changed>(&removal);
  return changed == nullptr ? "removed" : "changed " + holder_text(changed->holder);
}

std::string text_of(std::size_t count) {
  return std::to_string(count);
}
std::string text_of(base::Done) {
  return "1";
}

std::string text_of(const std::vector<rules::Post>& posts) {
  std::map<std::string, std::string> mail;
  for (const auto& each : posts) mail[each.to] += '<' + each.message + '>';
  return mail_text(mail);
}

std::string text_of(const rules::RememberedSlot& slot) {
  using Kind = rules::SlotState::Kind;
  const auto& is = slot.state;
  const auto runs = fmt::format("{}\t{}", is.runs.attempt, is.runs.failures);
  if (is.kind == Kind::open) return fmt::format("open\t{}\t{}", runs, is.token);
  if (is.kind == Kind::running) {
    return fmt::format("running\t{}\t{}{}", runs, is.token,
                       is.before.empty() ? "" : '\t' + is.before);
  }
  return fmt::format("done\t{}\t{}\t{}\t{}\t{}", runs, store::text_of(is.outcome), is.ended_ms,
                     is.fence, is.token);
}

std::string line_of(const rules::RememberedRun& run) {
  const std::string attempt = run.attempt > 0 ? std::to_string(run.attempt) : "";
  std::string line = fmt::format("{}\t{}\t{}\t{}\t{}\t{}", run.fence, run.token.text(), run.granted,
                                 run.waited.count(), run.slot, attempt);
  if (run.end) {
    line +=
        fmt::format("\t{}\t{}\t{}", run.end->at, store::text_of(run.end->outcome), run.end->why);
  }
  return run.reason.empty() ? line : line + '\t' + run.reason;
}

std::string text_of(const rules::LockState& lock, rules::TimeMs now) {
  StateText text;
  if (lock.last_token) text.fence(lock.last_fence, lock.last_token->text(), lock.fence_ends);
  for (const auto& each : lock.holders) {
    text.holder(queue_id(each.token, lock.mode), each.fence, each.ends, each.permit,
                each.is_kept(now));
  }
  if (const auto& is = lock.reservation) text.reserved(queue_id(is->token, is->mode), is->ends);
  for (const auto& each : lock.queue) {
    text.waiter(queue_id(each.token, each.mode), each.ticket, each.believed);
  }
  std::map<std::string, std::string> letters;
  for (const auto& each : lock.letters) letters[each.to] += '<' + each.text + '>';
  text.letters(letters);
  for (const auto& each : lock.runs) text.run(line_of(each), lock.runs_end);
  for (const auto& each : lock.slots) text.slot(each.id, text_of(each), each.ends);
  return text.take();
}

std::string text_of(const LockReport& report) {
  std::string text = fmt::format("mode={} fence={}", report.mode ? mode_text(*report.mode) : "-",
                                 report.fence ? std::to_string(*report.fence) : "-");
  for (const auto& each : report.holders) {
    text += fmt::format(" holder=({} fence={} permit={})", holder_text(each.holder),
                        each.fence ? std::to_string(*each.fence) : "-", each.permit);
  }
  for (const auto& each : report.waiters) {
    text += fmt::format(" waiter=({} {})", queue_id(each.token, each.mode),
                        length_text(each.waiting_for));
  }
  for (const auto& each : report.runs) text += ' ' + run_text(each);
  return text;
}

}  // namespace

Seen RulesSide::play(const RuleRequest& request, std::uint64_t now_us) {
  const rules::Facts facts{now_us};
  Seen seen;
  base::match(
      request,
      [&](const Check& asked) {
        rules::LockState now = state_;
        rules::settle(now, facts);
        const auto held = rules::check(now, asked.token, facts);
        seen.answer = held ? fmt::format("ours {} {}", held->left.count(), held->fence)
                           : "elsewhere " + holder_text(rules::holder_of(now, facts));
      },
      [&](const Inspect&) {
        rules::LockState now = state_;
        rules::settle(now, facts);
        seen.answer = text_of(rules::report(lock_of_rules(), now, facts));
      },
      [&](const auto& asked) {
        auto decision = rules::decide(state_, asked, facts);
        seen.answer = text_of(decision.answer);
        seen.posts = text_of(decision.posts);
      });
  rules::LockState now = state_;
  rules::settle(now, facts);
  seen.state = text_of(now, static_cast<rules::TimeMs>(now_us / 1000));
  return seen;
}

bool RulesSide::has_twin_tickets() const {
  const auto& queue = state_.queue;
  return std::adjacent_find(queue.begin(), queue.end(), [](const auto& one, const auto& other) {
           return one.ticket == other.ticket;
         }) != queue.end();
}

}  // namespace sim
