// Everybody who is at one lock, in the order of arrival.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "store/local/entry.hpp"
#include "store/local/seat_files.hpp"

namespace store::local {

/// However many wait, a turn concerns a few: the names of the files tell the order, and only who is
/// asked for is looked at. What dead processes left is taken away on the way, as nobody else does.
///
/// An Entry* is good until the next call that is not const.
class Roster {
 public:
  /// Empty until it is read.
  explicit Roster(SeatFiles files) : files_{std::move(files)} {}
  os::Result<os::Done> read();
  [[nodiscard]] const SeatFiles& files() const { return files_; }

  // Looks at every one: for people who ask.
  std::vector<Entry> everyone() { return all(Whom::everyone); }
  std::vector<Entry> holders() { return all(Whom::holders); }
  const Entry* anyone() { return first(Whom::everyone, any); }
  const Entry* first_waiter() { return first(Whom::waiters, any); }
  /// The last waiter that came before `seat`.
  const Entry* waiter_before(std::uint64_t seat);
  const Entry* find(std::uint64_t seat);
  /// May look at every one.
  const Entry* find(const Token& token);
  /// How many wait (before `seat`), as far as names tell: after everyone() it is exact.
  [[nodiscard]] std::size_t waiting(std::uint64_t before = at_the_end) const;
  /// 0 if there is none.
  [[nodiscard]] std::uint64_t last_seat() const;

  /// As the last one, with its pipe.
  os::NamedPipe add(const Entry& entry);
  /// What was granted to a holder, or to a waiter that becomes one. ENOENT if the seat is empty.
  os::Result<os::Done> change(std::uint64_t seat, const std::function<void(Entry&)>& how);
  void remove(std::uint64_t seat);

  /// A seat for who has none yet.
  static constexpr std::uint64_t at_the_end = ~std::uint64_t{0};

 private:
  /// Looked at, or not yet.
  struct Place {
    SeatNames names;
    std::optional<Entry> entry;
  };
  enum class Whom { everyone, holders, waiters };
  using Wanted = std::function<bool(const Entry&)>;
  static bool any(const Entry& /*each*/) { return true; }

  /// The first of `whom` that lives and is wanted.
  const Entry* first(Whom whom, const Wanted& wanted);
  std::vector<Entry> all(Whom whom);
  /// Of the place with that index, which is taken away if it turns out to be nobody's: then null.
  const Entry* look_at(std::size_t index);
  /// Where `seat` is, or would be.
  [[nodiscard]] std::size_t index_of(std::uint64_t seat) const;

  SeatFiles files_;
  std::vector<Place> places_;
};

}  // namespace store::local
