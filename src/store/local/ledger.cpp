#include "store/local/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "os/check.hpp"
#include "os/file.hpp"
#include "store/local/writing.hpp"

namespace store::local {
namespace {

namespace fs = std::filesystem;

// Beside each pipe: who it is, and once it holds, since when and with which fence.
constexpr const char* who = ".who";
constexpr const char* grant_suffix = ".grant";
constexpr const char* file_name = "/ledger";

/// Numbers are written with leading zeros, so that names sort and numbers replace each other whole.
std::string twenty_digits(std::uint64_t number) {
  return fmt::format("{:020}", number);
}

Fault trouble(const std::string& place, int error) {
  const bool denied = error == EACCES || error == EPERM || error == EROFS;
  return {denied ? Fault::Kind::denied : Fault::Kind::unavailable,
          fmt::format("{}: {}", place, os::describe(error))};
}

}  // namespace

std::variant<Ledger, Fault> Ledger::open(const LocalDirectory& directory, const LockName& name,
                                         os::LockedFile::Missing missing,
                                         const Patience& patience) {
  const bool create = missing == os::LockedFile::Missing::create;
  auto place = place_of(directory, name);
  if (!place) return Fault{Fault::Kind::unusable, "the key is too long for the name of a file"};
  const std::string& root = directory.private_root;
  if (!root.empty() && !os::is_private_directory(root, create)) {
    if (create || errno != ENOENT) return trouble(root, errno);
  }
  for (;;) {
    std::error_code error;
    if (create) fs::create_directories(*place, error);
    auto file = os::LockedFile::open(*place + file_name, missing, patience);
    if (file || (!create && errno == ENOENT)) {
      return Ledger{directory, *std::move(place), std::move(file)};
    }
    // Somebody who was the last one may have taken the directory away.
    const bool again = errno == ENOENT && !error && !patience.until.passed(base::now());
    if (!again) return trouble(*place, error ? error.value() : errno);
  }
}

Ledger::~Ledger() {
  if (!file_ || remembers_ || !entries_.empty()) return;
  std::error_code ignored;
  fs::remove(place_ + file_name, ignored);
  // The lock's own, the server's, that of all gates: as far as they are empty.
  fs::path directory{place_};
  for (int level = 0; level < 3 && fs::remove(directory, ignored); ++level) {
    directory = directory.parent_path();
  }
}

Ledger::Ledger(const LocalDirectory& directory, std::string place,
               std::optional<os::LockedFile> file)
    : remembers_{directory.remembers},
      place_{std::move(place)},
      file_{file ? std::make_unique<os::LockedFile>(*std::move(file)) : nullptr} {
  if (!file_) return;
  const auto numbers = numbers_in(file_->text());
  if (numbers.size() == 2) {
    last_fence_ = numbers[0];
    last_seat_ = numbers[1];
  }
  read();
}

std::string Ledger::path_of(std::uint64_t seat, const char* suffix) const {
  return place_ + "/" + twenty_digits(seat) + suffix;
}

void Ledger::read() {
  std::vector<std::uint64_t> seats;
  std::error_code error;
  for (const auto& each : fs::directory_iterator{place_, error}) {
    const auto numbers = numbers_in(each.path().stem().string());
    if (numbers.size() == 1) seats.push_back(numbers[0]);
  }
  std::sort(seats.begin(), seats.end());
  seats.erase(std::unique(seats.begin(), seats.end()), seats.end());
  // Should the file have been removed, no number may come again.
  if (!seats.empty()) last_seat_ = std::max(last_seat_, seats.back());
  for (const auto seat : seats) {
    auto entry = read(seat);
    const bool kept = entry && entry->kept && *entry->kept > wall_now();
    if (entry && (kept || os::is_owned(path_of(seat)))) {
      entries_.push_back(*std::move(entry));
    } else {
      remove(seat);
    }
  }
}

std::optional<Entry> Ledger::read(std::uint64_t seat) const {
  const auto text = os::contents_of(path_of(seat, who));
  auto entry = text ? entry_in(*text) : std::nullopt;
  if (!entry) return std::nullopt;
  entry->seat = seat;
  const auto numbers = numbers_in(os::contents_of(path_of(seat, grant_suffix)).value_or(""));
  if (numbers.size() < 3) return entry;
  entry->fence = numbers[0];
  entry->since = static_cast<WallTime>(numbers[1]);
  if (numbers[2] != 0) entry->kept = static_cast<WallTime>(numbers[2]);
  return entry;
}

const Entry* Ledger::find(const Token& token) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& each) { return each.token == token; });
  return found == entries_.end() ? nullptr : &*found;
}

const Entry* Ledger::first_waiter() const {
  return local::first_waiter(entries_);
}

std::optional<Fence> Ledger::last_fence() const {
  return last_fence_ == 0 ? std::nullopt : std::optional{last_fence_};
}

bool Ledger::may_hold(const Entry& entry) const {
  return local::may_hold(entries_, entry);
}

void Ledger::write_numbers() const {
  file_->overwrite(twenty_digits(last_fence_) + " " + twenty_digits(last_seat_) + "\n");
}

Seat Ledger::take_seat(const Token& token, const Mode& mode) {
  ++last_seat_;
  write_numbers();
  const Entry entry{last_seat_, token, mode, wall_now(), std::nullopt, std::nullopt};
  // The pipe comes last: with it, we are there.
  if (!os::write_contents(path_of(last_seat_, who), text_of(entry))) os::fail("writing " + place_);
  auto pipe = os::NamedPipe::create(path_of(last_seat_));
  if (!pipe) os::fail("making a pipe in " + place_);
  entries_.push_back(entry);
  return {last_seat_, *std::move(pipe)};
}

Fence Ledger::grant(std::uint64_t seat) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  last_fence_ = std::max(last_fence_ + 1, static_cast<Fence>(micros.count()));
  write_numbers();
  for (Entry& each : entries_) {
    if (each.seat != seat) continue;
    each.fence = last_fence_;
    each.since = wall_now();
  }
  keep(seat, 0);
  return last_fence_;
}

void Ledger::keep(std::uint64_t seat, WallTime until) {
  for (Entry& each : entries_) {
    if (each.seat != seat || !each.fence) continue;
    each.kept = until;
    const auto text = fmt::format("{} {} {}\n", *each.fence, each.since, until);
    if (!os::write_contents(path_of(seat, grant_suffix), text)) os::fail("writing " + place_);
  }
}

void Ledger::remove(std::uint64_t seat) {
  // The pipe goes first: without it, what is left is litter that the next one sweeps.
  std::error_code ignored;
  for (const char* suffix : {"", grant_suffix, who}) fs::remove(path_of(seat, suffix), ignored);
  std::erase_if(entries_, [&](const Entry& each) { return each.seat == seat; });
}

void Ledger::tell(std::uint64_t seat, const std::string& line) const {
  os::post(path_of(seat), line);
}

void Ledger::wake_next() const {
  const Entry* first = first_waiter();
  if (first != nullptr && may_hold(*first)) tell(first->seat, message::look);
}

os::Fd Ledger::watch(std::uint64_t seat) const {
  return os::watch_owner(path_of(seat));
}

}  // namespace store::local
