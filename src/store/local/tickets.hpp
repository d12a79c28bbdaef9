// Which tickets there may be in a lock's directory, and how one process tells the next, so that
// nobody lists the directory of a long queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/lock_store.hpp"

namespace store::local {

/// A set of tickets in the order of arrival, in which some are marked as holders. Numbers without a
/// gap are one span, however many they are.
class Tickets {
 public:
  struct Span {
    std::uint64_t first;
    std::uint64_t last;  // it is in the span

    bool operator==(const Span&) const = default;
  };

  Tickets() = default;
  /// In their order, none of them in another one; all waiters.
  explicit Tickets(std::vector<Span> spans) : spans_{std::move(spans)} {}

  /// A waiter, unless it is there.
  void add(std::uint64_t ticket);
  void remove(std::uint64_t ticket);
  /// If it is there.
  void mark_holder(std::uint64_t ticket);
  void mark_waiter(std::uint64_t ticket);

  [[nodiscard]] bool has(std::uint64_t ticket) const;
  [[nodiscard]] bool is_holder(std::uint64_t ticket) const;
  [[nodiscard]] const std::vector<std::uint64_t>& holders() const { return holders_; }
  [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }
  /// The first one that is not below `ticket`.
  [[nodiscard]] std::optional<std::uint64_t> first_from(std::uint64_t ticket) const;
  /// The last one below `ticket`.
  [[nodiscard]] std::optional<std::uint64_t> last_before(std::uint64_t ticket) const;
  /// How many below `ticket` are no holders.
  [[nodiscard]] std::size_t waiters_before(std::uint64_t ticket) const;
  /// Fills the smallest gaps until no more than `most` spans are left: then it has tickets that are
  /// not there.
  void fill_gaps(std::size_t most);

  bool operator==(const Tickets&) const = default;

 private:
  /// The first span that does not end below `ticket`.
  [[nodiscard]] std::size_t span_at(std::uint64_t ticket) const;

  std::vector<Span> spans_;
  std::vector<std::uint64_t> holders_;
};

/// A process's summary of the directory when it unlocks it. It has every ticket of the directory
/// and marks every holder; some of its entries may be gone. It is valid while fence and ticket are
/// the last ones that were given, and while the directory is unchanged.
struct Outline {
  Fence last_fence;
  std::uint64_t last_ticket;
  std::uint64_t changed_at;  // the directory: ns since 1970, by the clock of its file system
  Tickets tickets;

  bool operator==(const Outline&) const = default;
};
/// The longest text of it. A longer one, or one with more than a few holders, is replaced by an
/// empty one, and its reader lists the directory.
inline constexpr std::size_t longest_outline = 1000;
std::string text_of(Outline outline);
/// Nothing if the text makes no sense.
std::optional<Outline> outline_in(std::string_view text);

}  // namespace store::local
