// A lock's directory as the rules see it; and what they make of it, put there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/local/lock_dir.hpp"
#include "store/rules/decide.hpp"

namespace store::local {

/// Which waiters a decision is about; however many there are, a turn concerns the first.
enum class Waiters { first, all };

/// Lives no longer than the LockDir. Who is at the lock is alive while the kernel says so: a lease
/// has no end, but for one that is kept, and a waiter is believed as long as it answers.
class LockView {
 public:
  /// `mine`: the ticket of who asks, if it has one. `slot`: that it asks for; empty: none.
  static Result<LockView> of(LockDir& lock, Waiters which,
                             std::optional<std::uint64_t> mine = std::nullopt,
                             std::string slot = {});

  [[nodiscard]] const rules::LockState& state() const { return state_; }
  [[nodiscard]] rules::Facts facts() const { return {now_us_}; }

  /// Does what the rules say. A Fault: it could not be written, and did not happen.
  template <typename Request>
  auto change(const Request& request) -> Result<
      decltype(rules::decide(std::declval<rules::LockState&>(), request, rules::Facts{}).answer)> {
    rules::LockState after = state_;
    auto decision = rules::decide(after, request, facts());
    if (auto kept = keep(after, decision.posts); !kept) return not_written(kept.error());
    return std::move(decision.answer);
  }
  /// The entry of who asked, if a change made one.
  std::optional<OwnEntry> take_entry() { return std::exchange(entry_, std::nullopt); }

  /// Who has the lock, as it is told to others: who lives has it for as long as it likes.
  static std::optional<Holder> told(std::optional<Holder> holder);
  /// Everything known; `view` has all waiters.
  static LockReport report(const LockName& name, const LockView& view);

 private:
  LockView(LockDir& lock, std::optional<std::uint64_t> mine, std::string slot);
  os::Result<os::Done> look(Waiters which);
  void add(const QueueEntry& entry);
  os::Result<os::Done> remember(Waiters which);

  os::Result<os::Done> keep(const rules::LockState& after, const std::vector<rules::Post>& posts);
  os::Result<os::Done> keep_slot(const rules::LockState& before, const rules::LockState& after);
  /// Returns the tickets of those who were sent away and know it.
  std::vector<std::uint64_t> deliver(const rules::LockState& after,
                                     const std::vector<rules::Post>& posts);
  os::Result<os::Done> keep_entries(const rules::LockState& after,
                                    const std::vector<std::uint64_t>& sent_away);
  os::Result<os::Done> enqueue(const Token& token, const Mode& mode);
  [[nodiscard]] Fault not_written(const os::Error& error) const;

  LockDir* lock_;
  std::optional<std::uint64_t> mine_;
  std::string slot_;
  std::uint64_t now_us_;
  rules::LockState state_{};
  std::vector<QueueEntry> seen_{};  // who is in the state
  std::vector<RunRecord> runs_{};   // and what is remembered
  std::optional<OwnEntry> entry_{};
};

}  // namespace store::local
