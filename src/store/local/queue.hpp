// Everybody who is at one lock, in the order of arrival.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/local/queue_files.hpp"
#include "store/local/tickets.hpp"
#include "store/lock_store.hpp"

namespace store::local {

/// However many processes wait, a turn concerns a few: only an entry that is asked for is read. An
/// entry whose process is dead is removed when it is met, since nobody else removes it.
///
/// A QueueEntry* is good until its entry is changed or removed.
class Queue {
 public:
  /// Empty until it is read.
  explicit Queue(QueueFiles files) : files_{std::move(files)} {}
  /// Without `known`, lists the directory. `known` has every ticket of the directory and marks
  /// every holder; its other entries may be outdated.
  os::Result<os::Done> read(std::optional<Tickets> known = std::nullopt);
  /// All tickets that there may be.
  [[nodiscard]] const Tickets& tickets() const { return tickets_; }
  /// Whether tickets() differ from what was known as they were read.
  [[nodiscard]] bool has_changed() const { return has_changed_; }
  [[nodiscard]] const QueueFiles& files() const { return files_; }

  /// Lists the directory and reads every entry, for people who ask.
  std::vector<QueueEntry> everyone();
  std::vector<QueueEntry> holders() { return all(Whom::holders); }
  const QueueEntry* anyone() { return first(Whom::everyone, any); }
  using Wanted = std::function<bool(const QueueEntry&)>;
  const QueueEntry* first_waiter(const Wanted& wanted = any) {
    return first(Whom::waiters, wanted);
  }
  /// The last waiter that came before `ticket`.
  const QueueEntry* waiter_before(std::uint64_t ticket);
  const QueueEntry* find(std::uint64_t ticket);
  /// May read every entry.
  const QueueEntry* find(const Token& token);
  /// At most so many wait (before `ticket`): after everyone() it is exact.
  [[nodiscard]] std::size_t waiting(std::uint64_t before = at_the_end) const {
    return tickets_.waiters_before(before);
  }
  /// 0 if there is none.
  [[nodiscard]] std::uint64_t last_ticket() const {
    return tickets_.last_before(at_the_end).value_or(0);
  }

  // Recorded in tickets() before the change, so that the next process finds it there if we are
  // killed meanwhile.
  void expect(std::uint64_t ticket);
  void expect_grant(std::uint64_t ticket);
  void expect_no_grant(std::uint64_t ticket) { tickets_.mark_waiter(ticket); }
  /// At the end, with its pipe.
  os::Result<os::NamedPipe> add(const QueueEntry& entry);
  /// Changes the grant of a holder, or of a waiter that becomes one. ENOENT if there is no such
  /// entry.
  os::Result<os::Done> change(std::uint64_t ticket, const std::function<void(QueueEntry&)>& how);
  void remove(std::uint64_t ticket);

  /// The ticket of a process that has none yet.
  static constexpr std::uint64_t at_the_end = ~std::uint64_t{0};

 private:
  enum class Whom { everyone, holders, waiters };
  static bool any(const QueueEntry& /*each*/) { return true; }

  /// The first of `whom` that lives and is wanted.
  const QueueEntry* first(Whom whom, const Wanted& wanted);
  std::vector<QueueEntry> all(Whom whom);
  /// The entry of that ticket; null if its process is dead, and then it is removed.
  const QueueEntry* entry_of(std::uint64_t ticket);
  os::Result<os::Done> list();

  QueueFiles files_;
  Tickets tickets_;
  std::map<std::uint64_t, QueueEntry> entries_;  // that were read
  bool is_listed_ = false;
  bool has_changed_ = false;
};

}  // namespace store::local
