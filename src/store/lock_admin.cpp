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
  const auto& [name, fault] = unread.back();
  std::string why = "the lock '" + base::printable(name.text()) + "': " + fault.why;
  if (unread.size() > 1) why += "; and " + std::to_string(unread.size() - 1) + " more";
  return Fault{fault.kind, std::move(why)};
}

}  // namespace store
