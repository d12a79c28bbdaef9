#include "store/local/queue.hpp"

#include <algorithm>

namespace store::local {

bool has_room(const std::vector<QueueEntry>& holders, const Mode& mode) {
  const bool alone = mode.kind == Mode::Kind::exclusive ||
                     std::any_of(holders.begin(), holders.end(), [](const QueueEntry& each) {
                       return each.mode.kind == Mode::Kind::exclusive;
                     });
  if (alone) return holders.empty();
  return mode.kind != Mode::Kind::permits || holders.size() < mode.permits;
}

unsigned free_permit(const std::vector<QueueEntry>& holders, const Mode& mode) {
  if (mode.kind != Mode::Kind::permits) return 0;
  std::vector<unsigned> taken;
  taken.reserve(holders.size());
  for (const QueueEntry& each : holders) taken.push_back(each.permit);
  std::sort(taken.begin(), taken.end());
  unsigned lowest = 1;
  for (const unsigned each : taken) {
    if (each == lowest) ++lowest;
  }
  return lowest;
}

bool go_together(const Mode& a, const Mode& b) {
  const bool permits = a.kind == Mode::Kind::permits || b.kind == Mode::Kind::permits;
  return !permits || a == b;
}

Holder holder_of(const QueueEntry& entry, WallTime now) {
  Holder holder{Holder::Kind::holder, entry.token.text(),
                Millis{std::max<WallTime>(now - entry.since, 0)}, std::nullopt};
  if (entry.kept_until && *entry.kept_until > now) {
    holder.kind = Holder::Kind::kept;
    holder.expires_in = Millis{*entry.kept_until - now};
  }
  return holder;
}

std::vector<std::string> tokens_of(const std::vector<QueueEntry>& entries) {
  std::vector<std::string> tokens;
  tokens.reserve(entries.size());
  for (const QueueEntry& each : entries) tokens.push_back(each.token.text());
  return tokens;
}

std::optional<Holder> first_holder(const std::vector<QueueEntry>& holders, const Token& mine,
                                   WallTime now) {
  std::optional<Holder> first;
  for (const QueueEntry& each : holders) {
    if (each.token == mine) continue;
    if (first) {
      ++first->others;
    } else {
      first = holder_of(each, now);
    }
  }
  return first;
}

os::Result<os::Done> Queue::read() {
  auto tickets = files_.list();
  if (!tickets) return std::move(tickets).error();
  for (const TicketNames& names : *tickets) places_.push_back({names, std::nullopt});
  return os::Done{};
}

const QueueEntry* Queue::entry_at(std::size_t index) {
  Place& place = places_[index];
  if (!place.entry) place.entry = files_.read_live(place.names);
  if (place.entry) return &*place.entry;
  remove(place.names.ticket);
  return nullptr;
}

const QueueEntry* Queue::first(Whom whom, const Wanted& wanted) {
  for (std::size_t index = 0; index < places_.size();) {
    const bool granted = places_[index].names.granted;
    if (whom == Whom::everyone || (whom == Whom::holders) == granted) {
      const QueueEntry* entry = entry_at(index);
      if (entry == nullptr) continue;  // the next one has its index now
      if (wanted(*entry)) return entry;
    }
    ++index;
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

const QueueEntry* Queue::waiter_before(std::uint64_t ticket) {
  for (std::size_t index = index_of(ticket); index-- > 0;) {
    if (places_[index].names.granted) continue;
    if (const QueueEntry* entry = entry_at(index)) return entry;
  }
  return nullptr;
}

std::size_t Queue::index_of(std::uint64_t ticket) const {
  const auto at =
      std::lower_bound(places_.begin(), places_.end(), ticket,
                       [](const Place& each, auto number) { return each.names.ticket < number; });
  return static_cast<std::size_t>(at - places_.begin());
}

const QueueEntry* Queue::find(std::uint64_t ticket) {
  const auto index = index_of(ticket);
  if (index == places_.size() || places_[index].names.ticket != ticket) return nullptr;
  return entry_at(index);
}

const QueueEntry* Queue::find(const Token& token) {
  return first(Whom::everyone, [&](const QueueEntry& each) { return each.token == token; });
}

std::size_t Queue::waiting(std::uint64_t before) const {
  const auto end = places_.begin() + static_cast<std::ptrdiff_t>(index_of(before));
  return static_cast<std::size_t>(
      std::count_if(places_.begin(), end, [](const Place& each) { return !each.names.granted; }));
}

std::uint64_t Queue::last_ticket() const {
  return places_.empty() ? 0 : places_.back().names.ticket;
}

os::Result<os::NamedPipe> Queue::add(const QueueEntry& entry) {
  auto pipe = files_.create(entry);
  if (pipe) places_.push_back({{entry.ticket}, entry});
  return pipe;
}

os::Result<os::Done> Queue::change(std::uint64_t ticket,
                                   const std::function<void(QueueEntry&)>& how) {
  if (find(ticket) == nullptr) return os::Error{ENOENT, {}};
  Place& place = places_[index_of(ticket)];
  QueueEntry changed = *place.entry;
  how(changed);
  auto written = files_.write_grant(changed);
  if (written) {
    place = {{ticket, true}, std::move(changed)};
  } else if (!place.names.granted) {
    files_.remove_grant(ticket);  // an empty file would make a holder of it
  }
  return written;
}

void Queue::remove(std::uint64_t ticket) {
  files_.remove(ticket);
  std::erase_if(places_, [&](const Place& each) { return each.names.ticket == ticket; });
}

}  // namespace store::local
