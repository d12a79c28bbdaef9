// Read, decide, swap, and once more if somebody was quicker.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/records/record.hpp"
#include "store/records/records.hpp"

namespace store::records {

/// A lock as it was at `facts.now_us`.
struct Seen {
  Record record;
  std::uint64_t version;
  rules::Facts facts;
  Moment asked_at;  // not after that time of the server
};
/// The words for somebody that are in the record, and not over.
std::vector<std::string> letters_for(const std::string& whom, const Seen& seen);

/// A fault of a record that cannot be read.
Result<Seen> seen_in(const Snapshot& snapshot, Moment asked_at);

/// An answer, and the lock as it is with that.
template <typename Answer>
struct Changed {
  Answer answer;
  Seen after;
};

/// Asks the rules, and writes what they make of a lock. Keeps the lock that it has written last:
/// the next change of it needs no read if nobody else has changed it meanwhile.
class Changes {
 public:
  explicit Changes(Records& records) : records_{records} {}

  Result<Seen> look_at(const LockName& name, const CallLimit& limit);
  /// The lock that it keeps is not as it was.
  void forget() { kept_.reset(); }

  /// Where the rules change nothing and tell nobody, nothing is written. A silent Fault: it may
  /// have been written, and asking again with the same token finds out. `keeps`: of an answer,
  /// whether it must outlast a crash of the server.
  template <typename Request, typename Keeps>
  auto change(const LockName& name, const Request& request, const Keeps& keeps,
              const CallLimit& limit)
      -> Result<
          Changed<decltype(rules::decide(std::declval<rules::LockState&>(), request, rules::Facts{})
                               .answer)>> {
    std::optional<Seen> seen = remembered(name);
    bool is_remembered = seen.has_value();  // and not asked for
    for (int tried = 1;;) {
      if (!seen) {
        auto looked = look_at(name, limit);
        if (!looked) return std::move(looked).error();
        seen = *std::move(looked);
      }
      const rules::LockState before = seen->record.state;
      auto decision = rules::decide(seen->record.state, request, seen->facts);
      const bool is_same = seen->record.state == before && decision.posts.empty();
      if (is_same && !is_remembered) {
        return Changed<decltype(decision.answer)>{std::move(decision.answer), *std::move(seen)};
      }
      if (!is_same) {
        const bool must_last = keeps(decision.answer);
        const auto latest_us = latest_for(*seen, is_remembered);
        const bool joins = seen->record.state.queue.size() > before.queue.size();
        const auto longest = joins ? longest_record_to_join : longest_record;
        auto newer =
            write(name, *seen, latest_us, longest, std::move(decision.posts), must_last, limit);
        if (!newer) return std::move(newer).error();
        if (newer->is_written) {
          return Changed<decltype(decision.answer)>{std::move(decision.answer), *std::move(seen)};
        }
        if (!pause_after(tried, limit)) return always_late();
        seen = ++tried > tries_at_once ? std::nullopt : std::move(newer->seen);
      } else {
        seen.reset();  // what others did since may make another answer of it
      }
      is_remembered = false;
    }
  }

  template <typename Request>
  auto change(const LockName& name, const Request& request, const CallLimit& limit) {
    return change(
        name, request, [](const auto& /*answer*/) { return false; }, limit);
  }

 private:
  // After so many tries a pause, so that of many who want the same record each has its turn.
  static constexpr int tries_at_once = 2;
  /// Until when by the server's clock a swap may be done that was decided on this: if that clock
  /// was set forward meanwhile, the lock is to be looked at again.
  static std::uint64_t latest_for(const Seen& seen, bool is_remembered);

  struct Newer {
    bool is_written;
    std::optional<Seen> seen{};  // if not, the lock as it stands, where that is known
  };
  /// Writes what was decided; `seen` has the lock as it is to be, and then, as it is.
  Result<Newer> write(const LockName& name, Seen& seen, std::uint64_t latest_us,
                      std::size_t longest, std::vector<rules::Post> posts, bool must_last,
                      const CallLimit& limit);
  [[nodiscard]] std::optional<Seen> remembered(const LockName& name) const;

  /// Whether another try may follow the one of that number, from 1.
  static bool pause_after(int tried, const CallLimit& limit);
  /// What nobody could write because others always were quicker: it did not happen.
  static Fault always_late();

  struct Kept {
    LockName name;
    Seen seen;
    Moment at;  // not before the server's time in it
  };
  Records& records_;
  std::optional<Kept> kept_{};
};

}  // namespace store::records
