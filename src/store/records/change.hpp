// Read, decide, swap, and once more if somebody was quicker.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/records/record.hpp"
#include "store/records/records.hpp"

namespace store::records {

/// A lock as it was read, or the fault of a record that cannot be read.
struct Seen {
  Record record;
  std::uint64_t version;
  rules::Facts facts;
  Moment asked_at;  // before the question
};
Result<Seen> seen_in(const Snapshot& snapshot, Moment asked_at);
Result<Seen> look_at(Records& records, const LockName& name, const CallLimit& limit);
/// The words for somebody that are in the record, and not over.
std::vector<std::string> letters_for(const std::string& whom, const Seen& seen);

/// An answer, and the lock as it is with that.
template <typename Answer>
struct Changed {
  Answer answer;
  Seen after;
};

/// Writes what was decided. False: somebody was quicker. `seen` has the lock as it is to be.
Result<bool> write(Records& records, const LockName& name, Seen& seen,
                   std::vector<rules::Post> posts, bool must_last, const CallLimit& limit);

/// Whether another try may follow the one of that number, from 1: after a pause that grows, so that
/// of many who want the same record each has its turn.
bool pause_after(int tried, const CallLimit& limit);

/// What nobody could write because others always were quicker: it did not happen.
Fault always_late();

/// Asks the rules, and writes what they make of the lock. Where they change nothing and tell
/// nobody, nothing is written. A silent Fault: it may have been written, and asking again with the
/// same token finds out. `keeps`: of an answer, whether it must outlast a crash of the server.
template <typename Request, typename Keeps>
auto change(Records& records, const LockName& name, const Request& request, const Keeps& keeps,
            const CallLimit& limit)
    -> Result<
        Changed<decltype(rules::decide(std::declval<rules::LockState&>(), request, rules::Facts{})
                             .answer)>> {
  for (int tried = 1;; ++tried) {
    auto seen = look_at(records, name, limit);
    if (!seen) return std::move(seen).error();
    const rules::LockState before = seen->record.state;
    auto decision = rules::decide(seen->record.state, request, seen->facts);
    const bool is_same = seen->record.state == before && decision.posts.empty();
    if (!is_same) {
      auto written =
          write(records, name, *seen, std::move(decision.posts), keeps(decision.answer), limit);
      if (!written) return std::move(written).error();
      if (!*written) {
        if (!pause_after(tried, limit)) return always_late();
        continue;
      }
    }
    return Changed<decltype(decision.answer)>{std::move(decision.answer), *std::move(seen)};
  }
}

template <typename Request>
auto change(Records& records, const LockName& name, const Request& request,
            const CallLimit& limit) {
  return change(
      records, name, request, [](const auto& /*answer*/) { return false; }, limit);
}

}  // namespace store::records
