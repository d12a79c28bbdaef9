#include "store/records/change.hpp"

#include <algorithm>

#include "os/host.hpp"

namespace store::records {
namespace {

// After the first tries: who was late meets fewer then.
constexpr int tries_at_once = 2;
constexpr std::int64_t shortest_pause_ms = 1;
constexpr std::int64_t longest_pause_ms = 64;

/// A lock of which nothing is left needs no record.
bool is_forgotten(const Record& record) {
  return record.unknown.empty() && record.state == rules::LockState{};
}

}  // namespace

Result<Seen> seen_in(const Snapshot& snapshot, Moment asked_at) {
  auto record = record_in(snapshot.text);
  if (!record) {
    return Fault{Fault::Kind::unusable,
                 "the record of this lock is none that this version of rlock can read"};
  }
  return Seen{*std::move(record), snapshot.version, {snapshot.now_us}, asked_at};
}

Result<Seen> look_at(Records& records, const LockName& name, const CallLimit& limit) {
  const Moment asked_at = base::now();
  const auto read = records.read(name, limit);
  if (!read) return read.error();
  return seen_in(*read, asked_at);
}

std::vector<std::string> letters_for(const std::string& whom, const Seen& seen) {
  std::vector<std::string> texts;
  const auto now = static_cast<rules::TimeMs>(seen.facts.now_us / 1000);
  for (const auto& each : seen.record.state.letters) {
    if (each.to == whom && each.ends > now) texts.push_back(each.text);
  }
  return texts;
}

Result<bool> write(Records& records, const LockName& name, Seen& seen,
                   std::vector<rules::Post> posts, bool must_last, const CallLimit& limit) {
  Swap swap{seen.version, is_forgotten(seen.record) ? std::string{} : text_of(seen.record),
            ends_of(seen.record), std::move(posts), must_last};
  if (swap.text.size() > longest_record) {
    return Fault{Fault::Kind::unavailable, "too many wait for this lock: its record is full"};
  }
  auto written = records.swap(name, swap, limit);
  if (!written) return std::move(written).error();
  if (*written) seen.version = **written;
  return written->has_value();
}

bool pause_after(int tried, const CallLimit& limit) {
  if (ended(limit)) return false;
  if (tried <= tries_at_once) return true;
  const std::int64_t longest =
      std::min(longest_pause_ms, shortest_pause_ms << std::min(tried - tries_at_once, 10));
  const Millis pause{os::random_between(shortest_pause_ms, longest)};
  (void)os::wait_for(-1, os::Want::read, limit.at_most(Deadline::after(base::now(), pause)));
  return !ended(limit);
}

Fault always_late() {
  return {Fault::Kind::unavailable, "others change this lock all the time"};
}

}  // namespace store::records
