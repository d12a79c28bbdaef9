#include "store/local/seat_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "os/error.hpp"
#include "os/file.hpp"
#include "store/local/writing.hpp"

namespace store::local {
namespace {

// Beside each pipe: who it is, and once it holds, since when and with which fence.
constexpr const char* who = ".who";
constexpr const char* grant = ".grant";

/// "00000000000000000012.grant" is of seat 12, which holds; nothing for what is none of ours.
std::optional<SeatNames> names_in(std::string_view file) {
  const auto dot = std::min(file.find('.'), file.size());
  const auto numbers = numbers_in(file.substr(0, dot));
  if (numbers.size() != 1) return std::nullopt;
  return SeatNames{numbers[0], file.substr(dot) == grant};
}

}  // namespace

std::string SeatFiles::path_of(std::uint64_t seat, const char* suffix) const {
  return place_ + "/" + twenty_digits(seat) + suffix;
}

os::Result<std::vector<SeatNames>> SeatFiles::list() const {
  std::vector<SeatNames> seats;
  auto read = os::for_each_name(place_, [&](std::string_view file) {
    if (auto names = names_in(file)) seats.push_back(*names);
  });
  if (!read) return std::move(read).error();
  // Of one seat, what says that it holds comes first.
  std::sort(seats.begin(), seats.end(), [](const SeatNames& a, const SeatNames& b) {
    return a.number != b.number ? a.number < b.number : a.granted && !b.granted;
  });
  const auto same = [](const SeatNames& a, const SeatNames& b) { return a.number == b.number; };
  seats.erase(std::unique(seats.begin(), seats.end(), same), seats.end());
  return seats;
}

std::optional<Entry> SeatFiles::read(std::uint64_t seat) const {
  const auto text = os::contents_of(path_of(seat, who));
  auto entry = text ? entry_in(*text) : std::nullopt;
  if (!entry) return std::nullopt;
  entry->seat = seat;
  const auto numbers = numbers_in(os::contents_of(path_of(seat, grant)).value_or(""));
  if (numbers.size() < 3) return entry;
  entry->fence = numbers[0];
  entry->since = wall_time(numbers[1]);
  if (numbers[2] != 0) entry->kept = wall_time(numbers[2]);
  return entry;
}

std::optional<Entry> SeatFiles::living(const SeatNames& names) const {
  auto entry = read(names.number);
  const bool kept = entry && entry->kept && *entry->kept > wall_now();
  if (!kept && !os::is_owned(pipe_of(names.number))) return std::nullopt;
  if (entry) return entry;
  const auto fence = names.granted ? std::optional<Fence>{0} : std::nullopt;
  return Entry{names.number, Token::foreign("(unreadable)"), Mode{}, wall_now(), fence,
               std::nullopt};
}

os::NamedPipe SeatFiles::create(const Entry& entry) const {
  // The pipe comes last: with it, we are there.
  const auto written = os::write_contents(path_of(entry.seat, who), text_of(entry), sharing_);
  if (!written) os::fail("writing " + place_, written.error().number);
  auto pipe = os::NamedPipe::create(pipe_of(entry.seat), sharing_);
  if (!pipe) os::fail("making a pipe in " + place_, pipe.error().number);
  return *std::move(pipe);
}

os::Result<os::Done> SeatFiles::write_grant(const Entry& entry) const {
  const auto kept = static_cast<std::uint64_t>(entry.kept.value_or(0));
  const auto since = static_cast<std::uint64_t>(entry.since);
  const auto text = fmt::format("{} {} {}\n", twenty_digits(entry.fence.value_or(0)),
                                twenty_digits(since), twenty_digits(kept));
  return os::write_contents(path_of(entry.seat, grant), text, sharing_);
}

void SeatFiles::remove(std::uint64_t seat) const {
  // The pipe goes first: without it, what is left is litter that the next one sweeps.
  for (const char* suffix : {"", os::NamedPipe::unfinished, grant, who}) {
    os::remove_name(path_of(seat, suffix));
  }
}

}  // namespace store::local
