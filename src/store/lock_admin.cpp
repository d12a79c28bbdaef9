// A list of locks as it grows: its limits, and what it lacks.
#include "store/lock_admin.hpp"

#include "base/text.hpp"

namespace store {
namespace {

std::size_t size_of(const Mode& mode) {
  std::size_t size = sizeof mode;
  for (const auto& each : mode.names) size += sizeof(std::string) + each.size();
  return size;
}

/// Whether such a list contains this lock.
bool is_listed(const LockReport& report, Listed which) {
  const bool is_in_use = !report.holders.empty() || !report.waiters.empty();
  const bool is_remembered = !report.runs.empty();
  switch (which) {
    case Listed::in_use: return is_in_use;
    case Listed::remembered: return is_remembered;
    case Listed::known: break;
  }
  return is_in_use || is_remembered;
}

}  // namespace

std::size_t size_of(const LockReport& report) {
  std::size_t size = sizeof report + report.name.text().size();
  if (report.mode) size += size_of(*report.mode);
  for (const auto& each : report.holders) {
    size += sizeof each + each.holder.token.size() + each.holder.reason.size();
  }
  for (const auto& each : report.waiters) {
    size += sizeof each - sizeof each.mode + size_of(each.mode) + each.token.text().size();
  }
  for (const auto& each : report.runs) {
    size += sizeof each + each.token.text().size() + each.why.size() + each.slot.size() +
            each.reason.size();
  }
  return size;
}

std::string UnreadLock::why() const {
  return "the lock '" + base::printable(name.text()) + "': " + fault.why;
}

std::optional<Fault> Listing::add(LockReport report, Listed which) {
  if (!is_listed(report, which)) return std::nullopt;
  size += size_of(report);
  if (size > longest_list) return too_long_a_list();
  locks.push_back(std::move(report));
  return std::nullopt;
}

std::optional<Fault> Listing::add_unread(LockName name, Fault fault) {
  const bool is_nonsense = fault.kind == Fault::Kind::unusable;
  if (!is_nonsense && fault.kind != Fault::Kind::denied) return fault;
  // Other users may have many locks, beside some of ours.
  const bool is_all = is_nonsense || locks.empty();
  if (is_all && unread.size() >= most_unread) return fault;
  unread.push_back({std::move(name), std::move(fault)});
  return std::nullopt;
}

std::optional<Fault> Listing::gap() const {
  if (missing || unread.empty()) return missing;
  std::string why = unread.back().why();
  if (unread.size() > 1) why += "; and " + std::to_string(unread.size() - 1) + " more";
  return Fault{unread.back().fault.kind, std::move(why)};
}

}  // namespace store
