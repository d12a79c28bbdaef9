// The loop that reads a record, decides and swaps, and repeats that if another client was faster.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/records/record.hpp"
#include "store/records/records.hpp"

namespace store::records {

/// A lock as of `facts.now_us`.
struct Seen {
  Record record;
  std::uint64_t version;
  rules::Facts facts;
  Moment asked_at;  // not after that server time
};
/// The unexpired letters in the record to `whom`.
std::vector<std::string> letters_for(const std::string& whom, const Seen& seen);

/// A Fault if the record cannot be read.
Result<Seen> seen_in(const Snapshot& snapshot, Moment asked_at);

/// An answer, and the lock after it.
template <typename Answer>
struct Changed {
  Answer answer;
  Seen after;
};

/// Asks the rules and writes the lock that results. Keeps the last lock written: the next change of
/// it needs no read unless another client has changed it.
class Changes {
 public:
  explicit Changes(Records& records) : records_{records} {}

  Result<Seen> look_at(const LockName& name, const CallLimit& limit);
  /// Call when the kept lock is out of date.
  void forget() { kept_.reset(); }

  /// Writes nothing if the rules change nothing and post nothing. After a silent Fault the change
  /// may have been written; asking again with the same token finds out. `keeps`: whether an answer
  /// must outlast a crash of the server.
  template <typename Request, typename Keeps>
  auto change(const LockName& name, const Request& request, const Keeps& keeps,
              const CallLimit& limit)
      -> Result<
          Changed<decltype(rules::decide(std::declval<rules::LockState&>(), request, rules::Facts{})
                               .answer)>> {
    std::optional<Seen> seen = remembered(name);
    bool is_remembered = seen.has_value();  // and not read
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
        seen.reset();  // another client's change may lead to another answer
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
  // After this many tries pause, so that many clients of one record take turns.
  static constexpr int tries_at_once = 2;
  /// The latest server time for a swap decided on this state: if that clock was set forward
  /// meanwhile, the lock must be read again.
  static std::uint64_t latest_for(const Seen& seen, bool is_remembered);

  struct Newer {
    bool is_written;
    std::optional<Seen> seen{};  // otherwise the current lock, if known
  };
  /// Writes the decision. `seen` contains the lock to write, and afterwards the lock as it is.
  Result<Newer> write(const LockName& name, Seen& seen, std::uint64_t latest_us,
                      std::size_t longest, std::vector<rules::Post> posts, bool must_last,
                      const CallLimit& limit);
  [[nodiscard]] std::optional<Seen> remembered(const LockName& name) const;

  /// Whether another try may follow try number `tried`, counted from 1.
  static bool pause_after(int tried, const CallLimit& limit);
  /// The fault if other clients were always faster: nothing was written.
  static Fault always_late();

  struct Kept {
    LockName name;
    Seen seen;
    Moment at;  // not before the server time in it
  };
  Records& records_;
  std::optional<Kept> kept_{};
};

}  // namespace store::records
