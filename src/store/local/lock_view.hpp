// Shows a lock's directory to the rules as a LockState, and writes their decisions into it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/local/lock_dir.hpp"
#include "store/rules/decide.hpp"

namespace store::local {

/// The waiters that a decision needs to see. Most need only the first one, however long the queue.
enum class Waiters { first, all };

/// Must not outlive the LockDir. The kernel takes the place of leases: a hold lasts as long as its
/// process (or as --min-hold), and a waiter counts as alive while it reads its pipe.
class LockView {
 public:
  /// `mine`: the caller's ticket, if it has one. `slot`: the slot that it wants; empty: none.
  static Result<LockView> of(LockDir& lock, Waiters which,
                             std::optional<std::uint64_t> mine = std::nullopt,
                             std::string slot = {});

  [[nodiscard]] const rules::LockState& state() const { return state_; }
  [[nodiscard]] rules::Facts facts() const { return {now_us_}; }

  /// Applies the decision of the rules. A Fault: it could not be written and did not happen.
  template <typename Request>
  auto change(const Request& request) -> Result<
      decltype(rules::decide(std::declval<rules::LockState&>(), request, rules::Facts{}).answer)> {
    rules::LockState after = state_;
    auto decision = rules::decide(after, request, facts());
    if (auto kept = keep(after, decision.posts); !kept) return not_written(kept.error());
    return std::move(decision.answer);
  }
  /// The caller's entry, if a change made one.
  std::optional<OwnEntry> take_entry() { return std::exchange(entry_, std::nullopt); }

  /// A holder for display: without the end of a lease that a living process does not have.
  static std::optional<Holder> told(std::optional<Holder> holder);
  /// For a view that shows all waiters.
  [[nodiscard]] LockReport report(const LockName& name) const;

 private:
  LockView(LockDir& lock, std::optional<std::uint64_t> mine, std::string slot);
  [[nodiscard]] rules::TimeMs now() const { return static_cast<rules::TimeMs>(now_us_ / 1000); }
  os::Result<os::Done> look(Waiters which);
  void add(const QueueEntry& entry);
  os::Result<os::Done> remember(Waiters which);

  os::Result<os::Done> keep(const rules::LockState& after, const std::vector<rules::Post>& posts);
  os::Result<os::Done> keep_slot(const rules::LockState& before, const rules::LockState& after);
  /// Returns the tickets of the waiters that were dismissed and got the message.
  std::vector<std::uint64_t> deliver(const rules::LockState& after,
                                     const std::vector<rules::Post>& posts);
  os::Result<os::Done> keep_entries(const rules::LockState& after);
  void remove_entries(const rules::LockState& after, const std::vector<std::uint64_t>& sent_away);
  os::Result<os::Done> enqueue(const Token& token, const Mode& mode);
  [[nodiscard]] Fault not_written(const os::Error& error) const;

  LockDir* lock_;
  std::optional<std::uint64_t> mine_;
  std::string slot_;
  std::uint64_t now_us_;
  rules::LockState state_{};
  std::vector<QueueEntry> seen_{};  // behind the holders and waiters of the state
  std::vector<RunRecord> runs_{};   // behind its runs
  std::optional<OwnEntry> entry_{};
};

}  // namespace store::local
