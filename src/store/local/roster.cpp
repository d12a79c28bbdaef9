#include "store/local/roster.hpp"

#include <algorithm>

namespace store::local {

os::Result<os::Done> Roster::read() {
  auto seats = files_.list();
  if (!seats) return std::move(seats).error();
  for (const SeatNames& names : *seats) places_.push_back({names, std::nullopt});
  return os::Done{};
}

const Entry* Roster::look_at(std::size_t index) {
  Place& place = places_[index];
  if (!place.entry) place.entry = files_.living(place.names);
  if (place.entry) return &*place.entry;
  remove(place.names.number);
  return nullptr;
}

const Entry* Roster::first(Whom whom, const Wanted& wanted) {
  for (std::size_t index = 0; index < places_.size();) {
    const bool granted = places_[index].names.granted;
    if (whom == Whom::everyone || (whom == Whom::holders) == granted) {
      const Entry* entry = look_at(index);
      if (entry == nullptr) continue;  // the next one has its index now
      if (wanted(*entry)) return entry;
    }
    ++index;
  }
  return nullptr;
}

std::vector<Entry> Roster::all(Whom whom) {
  std::vector<Entry> all;
  first(whom, [&](const Entry& each) {
    all.push_back(each);
    return false;
  });
  return all;
}

const Entry* Roster::waiter_before(std::uint64_t seat) {
  for (std::size_t index = index_of(seat); index-- > 0;) {
    if (places_[index].names.granted) continue;
    if (const Entry* entry = look_at(index)) return entry;
  }
  return nullptr;
}

std::size_t Roster::index_of(std::uint64_t seat) const {
  const auto at =
      std::lower_bound(places_.begin(), places_.end(), seat,
                       [](const Place& each, auto number) { return each.names.number < number; });
  return static_cast<std::size_t>(at - places_.begin());
}

const Entry* Roster::find(std::uint64_t seat) {
  const auto index = index_of(seat);
  if (index == places_.size() || places_[index].names.number != seat) return nullptr;
  return look_at(index);
}

const Entry* Roster::find(const Token& token) {
  return first(Whom::everyone, [&](const Entry& each) { return each.token == token; });
}

std::size_t Roster::waiting(std::uint64_t before) const {
  const auto end = places_.begin() + static_cast<std::ptrdiff_t>(index_of(before));
  return static_cast<std::size_t>(
      std::count_if(places_.begin(), end, [](const Place& each) { return !each.names.granted; }));
}

std::uint64_t Roster::last_seat() const {
  return places_.empty() ? 0 : places_.back().names.number;
}

os::NamedPipe Roster::add(const Entry& entry) {
  auto pipe = files_.create(entry);
  places_.push_back({{entry.seat}, entry});
  return pipe;
}

os::Result<os::Done> Roster::change(std::uint64_t seat, const std::function<void(Entry&)>& how) {
  if (find(seat) == nullptr) return os::Error{ENOENT, {}};
  Place& place = places_[index_of(seat)];
  how(*place.entry);
  place.names.granted = true;
  return files_.write_grant(*place.entry);
}

void Roster::remove(std::uint64_t seat) {
  files_.remove(seat);
  std::erase_if(places_, [&](const Place& each) { return each.names.number == seat; });
}

}  // namespace store::local
