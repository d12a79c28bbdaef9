#include "store/local/lock_view.hpp"

#include <algorithm>
#include <chrono>

#include "store/local/mail.hpp"
#include "store/rules/runs.hpp"

namespace store::local {
namespace {

using rules::Hold;
using rules::LockState;
using rules::TimeMs;
using rules::Wait;

// Stands for a lease without an end: a century.
constexpr Millis never_ends = Ttl::longest * 100;

template <typename Named>
auto find_token(const std::vector<Named>& all, const Token& token) -> const Named* {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Named& each) { return each.token == token; });
  return found == all.end() ? nullptr : &*found;
}

/// The slot of the view; null: it has no record.
const rules::RememberedSlot* slot_in(const LockState& state) {
  return state.slots.empty() ? nullptr : &state.slots.front();
}

}  // namespace

LockView::LockView(LockDir& lock, std::optional<std::uint64_t> mine, std::string slot)
    : lock_{&lock},
      mine_{mine},
      slot_{std::move(slot)},
      now_us_{static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                             std::chrono::system_clock::now().time_since_epoch())
                                             .count())} {}

Result<LockView> LockView::of(LockDir& lock, Waiters which, std::optional<std::uint64_t> mine,
                              std::string slot) {
  LockView view{lock, mine, std::move(slot)};
  if (const auto looked = view.look(which); !looked) return view.not_written(looked.error());
  return view;
}

// ---- reading ---------------------------------------------------------------------------------

os::Result<os::Done> LockView::look(Waiters which) {
  Queue& queue = lock_->queue();
  for (const QueueEntry& each : lock_->holders()) add(each);
  std::optional<QueueEntry> mine;
  if (const QueueEntry* entry = mine_ ? queue.find(*mine_) : nullptr) mine = *entry;
  if (which == Waiters::all) {
    for (const QueueEntry& each : queue.everyone()) {
      if (!each.holds()) add(each);
    }
  } else if (const QueueEntry* first = lock_->first_that_answers()) {
    add(*first);
    // If the caller gets a lock that several may hold, the waiter behind it is woken.
    const bool is_mine = first->ticket == mine_;
    const bool shares = first->mode.kind != Mode::Kind::exclusive;
    const QueueEntry* next =
        is_mine && shares ? lock_->first_that_answers(first->ticket + 1) : nullptr;
    if (next != nullptr) add(*next);
  }
  // The caller is a waiter behind the first one, or the holder of a gate that did not answer
  // before.
  if (mine && find_token(seen_, mine->token) == nullptr) add(*mine);

  const TimeMs forever = now() + never_ends.count();
  state_.last_fence = lock_->last_fence().value_or(0);
  if (state_.last_fence > 0) state_.last_token = Token::foreign("");
  state_.fence_ends = forever;
  // A first waiter that asks for a free lock was woken or saw the holder end: it is its turn.
  const auto& waiters = state_.queue;
  if (mine && state_.holders.empty() && !waiters.empty() && waiters.front().token == mine->token) {
    state_.reservation = rules::Reservation{mine->token, mine->mode, forever};
  }
  return remember(which);
}

void LockView::add(const QueueEntry& entry) {
  const TimeMs forever = now() + never_ends.count();
  seen_.push_back(entry);
  if (!entry.holds()) {
    const bool answers = entry.ticket == mine_ || lock_->answers(entry);
    state_.queue.push_back({entry.token, entry.mode, entry.ticket, answers ? forever : 0});
    return;
  }
  if (state_.holders.empty()) state_.mode = entry.mode;
  const bool is_kept = entry.kept_until && *entry.kept_until > now();
  state_.holders.push_back({entry.token, *entry.fence, is_kept ? *entry.kept_until : forever,
                            entry.permit, entry.kept_until.value_or(0)});
}

os::Result<os::Done> LockView::remember(Waiters which) {
  const Memory* memory = lock_->memory();
  if (memory == nullptr) return os::Done{};
  // A grant or release needs only the newest runs; reports need all.
  runs_ = memory->runs(state_.holders, which == Waiters::all ? rules::remembered_runs
                                                             : rules::runs_for_typical_length);
  for (const RunRecord& each : runs_) {
    if (each.run && state_.runs.size() < rules::remembered_runs) state_.runs.push_back(*each.run);
  }
  if (!runs_.empty()) state_.runs_end = now() + runs_.front().history.count() + 1;
  if (slot_.empty()) return os::Done{};
  auto slot = memory->slot(slot_);
  if (!slot) return std::move(slot).error();
  if (*slot) state_.slots.push_back(**std::move(slot));
  return os::Done{};
}

std::optional<Holder> LockView::told(std::optional<Holder> holder) {
  // The woken waiter takes the lock or is passed over; nothing is reserved for it.
  if (holder && holder->kind == Holder::Kind::reserved) return std::nullopt;
  if (holder && holder->expires_in > Ttl::longest) {
    holder->expires_in.reset();
    holder->ends = Holder::Ends::with_owner;
  }
  return holder;
}

LockReport LockView::report(const LockName& name) const {
  LockState state = state_;
  std::vector<const QueueEntry*> waiters;
  for (const QueueEntry& each : seen_) {
    if (!each.holds()) waiters.push_back(&each);
  }
  for (Wait& each : state.queue) each.believed = now() + 1;
  auto report = rules::report(name, state, facts());
  for (auto& each : report.holders) {
    each.holder = *told(std::move(each.holder));
    if (each.fence != unknown_fence) continue;
    each.fence.reset();
    each.holder.held_for.reset();
  }
  for (std::size_t i = 0; i < std::min(waiters.size(), report.waiters.size()); ++i) {
    report.waiters[i].waiting_for = Millis{std::max<TimeMs>(now() - waiters[i]->since, 0)};
  }
  return report;
}

// ---- writing ---------------------------------------------------------------------------------

os::Result<os::Done> LockView::keep(const LockState& after, const std::vector<rules::Post>& posts) {
  const Memory* memory = lock_->memory();
  // Write the slot first: if it cannot be written, the run must not begin (it would be repeated)
  // or must not be recorded as the one that completed the slot.
  if (auto written = keep_slot(state_, after); !written) return written;
  const bool is_grant = after.last_fence != state_.last_fence;
  if (memory != nullptr && !is_grant) memory->write_runs(runs_, state_, after);
  // Then the entries, so that nobody is dismissed for a claim that could not be written.
  if (auto written = keep_entries(after); !written) {
    if (is_grant) (void)keep_slot(after, state_);
    return written;
  }
  remove_entries(after, deliver(after, posts));
  if (memory != nullptr && is_grant) memory->write_runs(runs_, state_, after);
  return os::Done{};
}

os::Result<os::Done> LockView::keep_slot(const LockState& before, const LockState& after) {
  const Memory* memory = lock_->memory();
  if (memory == nullptr || before.slots == after.slots) return os::Done{};
  const auto* slot = slot_in(after);
  return slot != nullptr ? memory->write_slot(*slot) : memory->erase_slot(slot_);
}

std::vector<std::uint64_t> LockView::deliver(const LockState& after,
                                             const std::vector<rules::Post>& posts) {
  std::vector<std::uint64_t> sent_away;
  for (const rules::Post& each : posts) {
    const Token whom = Token::foreign(each.to);
    const QueueEntry* entry = find_token(seen_, whom);
    if (entry == nullptr) continue;
    const bool is_first = !after.queue.empty() && after.queue.front().token == whom;
    const auto* slot = slot_in(after);
    if (each.message == "wake" || (each.message == "next" && is_first)) {
      // Wake no other waiter: each watches the one before it.
      lock_->wake(entry->ticket);
    } else if (each.message == "done" && slot != nullptr) {
      const bool wants_it = !entry->holds() && entry->slot == slot->id;
      if (wants_it && lock_->post(entry->ticket, line_of(*slot)))
        sent_away.push_back(entry->ticket);
    } else if (const auto line = line_of(each)) {
      const bool told = lock_->post(entry->ticket, *line);
      const bool waits_on = find_token(after.queue, whom) != nullptr;
      if (told && !entry->holds() && !waits_on) sent_away.push_back(entry->ticket);
    }
  }
  return sent_away;
}

os::Result<os::Done> LockView::keep_entries(const LockState& after) {
  for (const QueueEntry& each : seen_) {
    const Hold* hold = each.holds() ? find_token(after.holders, each.token) : nullptr;
    if (hold == nullptr || hold->kept == each.kept_until.value_or(0)) continue;
    if (auto kept = lock_->keep_until(each.ticket, hold->kept); !kept) return kept;
  }
  for (const Wait& each : after.queue) {
    if (find_token(seen_, each.token) != nullptr) continue;
    if (auto written = enqueue(each.token, each.mode); !written) return written;
  }
  for (const Hold& each : after.holders) {
    const QueueEntry* entry = find_token(seen_, each.token);
    if (entry != nullptr && entry->holds()) continue;
    if (entry == nullptr) {
      if (auto written = enqueue(each.token, after.mode); !written) return written;
    }
    const auto ticket = entry != nullptr ? entry->ticket : entry_->ticket;
    if (auto written = lock_->grant(ticket, each.fence, each.permit); !written) return written;
  }
  return os::Done{};
}

void LockView::remove_entries(const LockState& after, const std::vector<std::uint64_t>& sent_away) {
  for (const QueueEntry& each : seen_) {
    if (find_token(after.holders, each.token) != nullptr) continue;
    const bool is_told =
        std::find(sent_away.begin(), sent_away.end(), each.ticket) != sent_away.end();
    // A dismissed waiter that could not be told keeps its entry and finds out at its turn.
    const bool leaves = each.ticket == mine_ && find_token(after.queue, each.token) == nullptr;
    if (each.holds() || is_told || leaves) lock_->queue().remove(each.ticket);
  }
}

os::Result<os::Done> LockView::enqueue(const Token& token, const Mode& mode) {
  auto entry = lock_->enqueue(token, mode, slot_);
  if (!entry) return std::move(entry).error();
  entry_ = *std::move(entry);
  return os::Done{};
}

/// A full disk, mostly.
Fault LockView::not_written(const os::Error& error) const {
  return {error.number == 0 ? Fault::Kind::denied : Fault::Kind::unavailable,
          "writing in " + lock_->path() + ": " + error.text()};
}

}  // namespace store::local
