#include "store/records/change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "os/host.hpp"

namespace store::records {
namespace {

// The pause between tries, which spreads competing clients.
constexpr std::int64_t shortest_pause_ms = 1;
constexpr std::int64_t longest_pause_ms = 64;

// The end of the year 9999. Times computed from a later one could not be read back.
constexpr std::uint64_t latest_time_us = 253'402'300'799'000'000;

Fault impossible_time(std::uint64_t now_us) {
  return {Fault::Kind::unusable, fmt::format("the server's clock says {} µs since 1970", now_us)};
}

/// An empty lock needs no record.
bool is_forgotten(const Record& record) {
  return record.unknown.empty() && record.state == rules::LockState{};
}

}  // namespace

Result<Seen> seen_in(const Snapshot& snapshot, Moment asked_at) {
  if (snapshot.now_us > latest_time_us) return impossible_time(snapshot.now_us);
  auto record = record_in(snapshot.text);
  if (!record) {
    return Fault{Fault::Kind::unusable,
                 "the record of this lock is none that this version of rlock can read"};
  }
  return Seen{*std::move(record), snapshot.version, {snapshot.now_us}, asked_at};
}

Result<Seen> Changes::look_at(const LockName& name, const CallLimit& limit) {
  const Moment asked_at = base::now();
  const auto read = records_.read(name, limit);
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

std::optional<Seen> Changes::remembered(const LockName& name) const {
  if (!kept_ || kept_->name != name) return std::nullopt;
  // The server's clock has reached at least this. If it was set back, either nobody has changed the
  // lock by the new time, or the swap is refused.
  Seen seen = kept_->seen;
  const auto passed =
      std::chrono::duration_cast<std::chrono::microseconds>(base::now() - kept_->at);
  seen.facts.now_us += static_cast<std::uint64_t>(passed.count());
  return seen;
}

std::uint64_t Changes::latest_for(const Seen& seen, bool is_remembered) {
  constexpr std::uint64_t tolerated_us = 1'000'000;
  if (is_remembered) return seen.facts.now_us + tolerated_us;
  // The swap may take as long as the read did.
  const auto passed =
      std::chrono::duration_cast<std::chrono::microseconds>(base::now() - seen.asked_at);
  return seen.facts.now_us + 2 * static_cast<std::uint64_t>(passed.count()) + tolerated_us;
}

Result<Changes::Newer> Changes::write(const LockName& name, Seen& seen, std::uint64_t latest_us,
                                      std::size_t longest, std::vector<rules::Post> posts,
                                      bool must_last, const CallLimit& limit) {
  kept_.reset();
  make_room(seen.record);
  const Swap swap{seen.version,
                  latest_us,
                  is_forgotten(seen.record) ? std::string{} : text_of(seen.record),
                  ends_of(seen.record),
                  std::move(posts),
                  must_last};
  if (swap.text.size() > longest) {
    return Fault{Fault::Kind::unavailable, "too many wait for this lock: its record is full"};
  }
  const Moment asked_at = base::now();
  auto swapped = records_.swap(name, swap, limit);
  if (!swapped) return std::move(swapped).error();
  if (const auto* snapshot = std::get_if<Snapshot>(&*swapped)) {
    if (snapshot->version == swap.version) return Newer{false};
    auto stands = seen_in(*snapshot, asked_at);
    if (!stands) return std::move(stands).error();
    return Newer{false, *std::move(stands)};
  }
  const auto written = std::get<Written>(*swapped);
  if (written.now_us > latest_time_us) return impossible_time(written.now_us);
  // A lease in the record counts from the time given to the rules, which is this long before the
  // swap by the server's clock.
  const auto age = written.now_us - std::min(written.now_us, seen.facts.now_us);
  seen.asked_at = asked_at - std::chrono::microseconds{age};
  seen.version = written.version;
  kept_ = Kept{name, seen, base::now()};
  kept_->seen.facts.now_us = written.now_us;
  return Newer{true};
}

bool Changes::pause_after(int tried, const CallLimit& limit) {
  if (ended(limit)) return false;
  if (tried < tries_at_once) return true;
  const std::int64_t longest =
      std::min(longest_pause_ms, shortest_pause_ms << std::min(tried - tries_at_once + 1, 10));
  const Millis pause{os::random_between(shortest_pause_ms, longest)};
  (void)os::wait_for(-1, os::Want::read, limit.at_most(Deadline::after(base::now(), pause)));
  return !ended(limit);
}

Fault Changes::always_late() {
  return {Fault::Kind::unavailable, "others change this lock all the time"};
}

}  // namespace store::records
