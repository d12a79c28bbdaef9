#include "store/local/queue.hpp"

#include <algorithm>

namespace store::local {

os::Result<os::Done> Queue::read(std::optional<Tickets> known) {
  if (!known) return list();
  tickets_ = *std::move(known);
  // A process that was killed before it wrote its grant holds nothing, as the names show.
  for (const std::uint64_t each : std::vector{tickets_.holders()}) {
    if (!files_.is_granted(each)) tickets_.mark_waiter(each);
  }
  return os::Done{};
}

os::Result<os::Done> Queue::list() {
  auto names = files_.list();
  if (!names) return std::move(names).error();
  Tickets found;
  for (const TicketNames& each : *names) {
    found.add(each.ticket);
    if (each.granted) found.mark_holder(each.ticket);
  }
  has_changed_ = has_changed_ || found != tickets_;
  tickets_ = std::move(found);
  is_listed_ = true;
  return os::Done{};
}

const QueueEntry* Queue::entry_of(std::uint64_t ticket) {
  auto at = entries_.find(ticket);
  if (at == entries_.end()) {
    auto entry = files_.read_live({ticket, tickets_.is_holder(ticket)});
    if (!entry) {
      remove(ticket);
      return nullptr;
    }
    at = entries_.emplace(ticket, *std::move(entry)).first;
  }
  return &at->second;
}

const QueueEntry* Queue::first(Whom whom, const Wanted& wanted) {
  const auto asked = [&](std::uint64_t ticket) -> const QueueEntry* {
    const QueueEntry* entry = entry_of(ticket);
    return entry != nullptr && wanted(*entry) ? entry : nullptr;
  };
  if (whom == Whom::holders) {
    for (const std::uint64_t each : std::vector{tickets_.holders()}) {
      if (const QueueEntry* entry = asked(each)) return entry;
    }
    return nullptr;
  }
  for (auto ticket = tickets_.first_from(0); ticket;) {
    if (whom == Whom::everyone || !tickets_.is_holder(*ticket)) {
      if (const QueueEntry* entry = asked(*ticket)) return entry;
    }
    if (*ticket == at_the_end) break;
    ticket = tickets_.first_from(*ticket + 1);
  }
  return nullptr;
}

std::vector<QueueEntry> Queue::all(Whom whom) {
  std::vector<QueueEntry> all;
  first(whom, [&](const QueueEntry& each) {
    all.push_back(each);
    return false;
  });
  return all;
}

std::vector<QueueEntry> Queue::everyone() {
  if (!is_listed_) (void)list();  // if that fails, what is known has everybody as well
  return all(Whom::everyone);
}

const QueueEntry* Queue::waiter_before(std::uint64_t ticket) {
  for (auto before = tickets_.last_before(ticket); before; before = tickets_.last_before(*before)) {
    if (tickets_.is_holder(*before)) continue;
    if (const QueueEntry* entry = entry_of(*before)) return entry;
  }
  return nullptr;
}

const QueueEntry* Queue::find(std::uint64_t ticket) {
  return tickets_.has(ticket) ? entry_of(ticket) : nullptr;
}

const QueueEntry* Queue::find(const Token& token) {
  const Wanted is_its = [&](const QueueEntry& each) { return each.token == token; };
  const QueueEntry* holder = first(Whom::holders, is_its);
  return holder != nullptr ? holder : first(Whom::everyone, is_its);
}

void Queue::expect(std::uint64_t ticket) {
  tickets_.add(ticket);
  has_changed_ = true;
}

void Queue::expect_grant(std::uint64_t ticket) {
  tickets_.mark_holder(ticket);
  has_changed_ = true;
}

os::Result<os::NamedPipe> Queue::add(const QueueEntry& entry) {
  auto pipe = files_.create(entry);
  has_changed_ = true;
  if (pipe) {
    tickets_.add(entry.ticket);
    entries_.insert_or_assign(entry.ticket, entry);
  } else {
    tickets_.remove(entry.ticket);
  }
  return pipe;
}

os::Result<os::Done> Queue::change(std::uint64_t ticket,
                                   const std::function<void(QueueEntry&)>& how) {
  const QueueEntry* entry = find(ticket);
  if (entry == nullptr) return os::Error{ENOENT, {}};
  QueueEntry changed = *entry;
  how(changed);
  auto written = files_.write_grant(changed);
  has_changed_ = true;
  if (written) {
    tickets_.mark_holder(ticket);
    entries_.insert_or_assign(ticket, std::move(changed));
  } else if (!entry->holds()) {
    files_.remove_grant(ticket);  // an empty file would make a holder of it
    tickets_.mark_waiter(ticket);
  }
  return written;
}

void Queue::remove(std::uint64_t ticket) {
  files_.remove(ticket);
  tickets_.remove(ticket);
  entries_.erase(ticket);
  has_changed_ = true;
}

}  // namespace store::local
