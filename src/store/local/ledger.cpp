#include "store/local/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "os/error.hpp"
#include "os/file.hpp"
#include "os/host.hpp"
#include "os/ipc.hpp"
#include "store/local/writing.hpp"

namespace store::local {
namespace {

constexpr const char* file_name = "/ledger";

Fault trouble(const std::string& place, int error) {
  if (error == EAGAIN || error == EINTR) {
    return {Fault::Kind::unavailable, place + ": another process keeps it locked"};
  }
  const bool denied = error == EACCES || error == EPERM || error == EROFS;
  return {denied ? Fault::Kind::denied : Fault::Kind::unavailable,
          fmt::format("{}: {}", place, os::describe(error))};
}

/// The lock's own directory and who may use it; monostate if it is not there (yet, or any more).
std::variant<os::Sharing, Fault, std::monostate> ready(const std::string& directory,
                                                       const std::string& place, bool create) {
  const auto found = os::sharing_in(directory, create);
  if (!found) {
    const int error = found.error().number;
    if (error == ENOENT) return std::monostate{};
    if (error != EPERM) return trouble(directory, error);
    return Fault{Fault::Kind::denied,
                 directory +
                     ": everybody may write there, and take away what others made: name a "
                     "directory of your own, or chmod o-w"};
  }
  const os::Sharing sharing = *found;
  if (!sharing.is_sticky && !create) return sharing;
  const auto made =
      sharing.is_sticky ? os::private_directory(place, create) : os::make_directory(place, sharing);
  if (made) return sharing;
  if (made.error().number == ENOENT) return std::monostate{};
  return trouble(place, made.error().number);
}

}  // namespace

std::variant<Ledger, Fault> Ledger::open(const LocalDirectory& directory, const LockName& name,
                                         os::LockedFile::Missing missing, const CallLimit& limit) {
  const bool create = missing == os::LockedFile::Missing::create;
  auto place = place_of(directory, name);
  if (!place) return Fault{Fault::Kind::unusable, "the key is too long for the name of a file"};
  const std::string& root = directory.private_root;
  if (!root.empty()) {
    const auto ours = os::private_directory(root, create);
    const int error = ours ? 0 : ours.error().number;
    if (error != 0 && (create || error != ENOENT)) return trouble(root, error);
  }
  for (;;) {
    const auto way = ready(directory.path, *place, create);
    const auto* sharing = std::get_if<os::Sharing>(&way);
    const auto* fault = std::get_if<Fault>(&way);
    if (fault != nullptr) return *fault;
    std::unique_ptr<os::LockedFile> file;
    int error = ENOENT;
    if (sharing != nullptr) {
      auto opened = os::LockedFile::open(*place + file_name, missing, *sharing, limit);
      if (opened) {
        file = std::make_unique<os::LockedFile>(*std::move(opened));
      } else {
        error = opened.error().number;
      }
    }
    const bool is_gone = file == nullptr && error == ENOENT;
    if (file || (is_gone && !create)) {
      Ledger ledger{directory.remembers,
                    {*place, sharing == nullptr ? os::Sharing{} : *sharing},
                    std::move(file)};
      if (const auto read = ledger.read(); !read) return trouble(*place, read.error().number);
      return ledger;
    }
    if (!is_gone) return trouble(*place, error);
    // Somebody who was the last one may have taken the directory away.
    const auto pause = limit.at_most(Deadline::after(base::now(), Millis{1}));
    const bool interrupted = os::wait_for(-1, os::Want::read, pause) == os::Ready::interrupted;
    if (interrupted || limit.until.passed(base::now())) return trouble(*place, ENOENT);
  }
}

Ledger::~Ledger() {
  if (!file_) return;
  if (!remembers_ && roster_.anyone() == nullptr) {
    os::remove_name(files().place() + file_name);
    // The lock's own, the server's, that of all gates: as far as they are empty.
    std::filesystem::path directory{files().place()};
    std::error_code ignored;
    for (int level = 0; level < 3 && std::filesystem::remove(directory, ignored); ++level) {
      directory = directory.parent_path();
    }
  }
  file_.reset();
  if (woken_) os::post(files().pipe_of(*woken_), message::look);
}

Ledger::Ledger(bool remembers, SeatFiles files, std::unique_ptr<os::LockedFile> file)
    : remembers_{remembers}, roster_{std::move(files)}, file_{std::move(file)} {}

os::Result<os::Done> Ledger::read() {
  if (!file_) return os::Done{};
  const auto text = file_->text();
  if (!text) os::fail("reading a lock's file", text.error().number);
  const auto numbers = numbers_in(*text);
  if (numbers.size() == 2) {
    last_fence_ = numbers[0];
    last_seat_ = numbers[1];
  }
  if (auto read = roster_.read(); !read) {
    remembers_ = true;  // who knows who is there
    return read;
  }
  // Should the file have been removed, no number may come again.
  last_seat_ = std::max(last_seat_, roster_.last_seat());
  return os::Done{};
}

std::optional<Fence> Ledger::last_fence() const {
  return last_fence_ == 0 ? std::nullopt : std::optional{last_fence_};
}

bool Ledger::may_hold(std::uint64_t seat, Mode mode) {
  const Entry* before = roster_.first_waiter();
  return (before == nullptr || before->seat >= seat) && has_room(roster_.holders(), mode);
}

void Ledger::write_numbers() const {
  const auto written =
      file_->overwrite(twenty_digits(last_fence_) + " " + twenty_digits(last_seat_) + "\n");
  if (!written) os::fail("writing a lock's file", written.error().number);
}

Seat Ledger::take_seat(const Token& token, const Mode& mode) {
  ++last_seat_;
  write_numbers();
  const Entry entry{last_seat_, token, mode, wall_now(), std::nullopt, std::nullopt};
  return {last_seat_, roster_.add(entry)};
}

Fence Ledger::grant(std::uint64_t seat) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  last_fence_ = std::max(last_fence_ + 1, static_cast<Fence>(micros.count()));
  write_numbers();
  const auto written = roster_.change(seat, [&](Entry& entry) {
    entry.fence = last_fence_;
    entry.since = wall_now();
  });
  if (!written) os::fail("writing " + files().place(), written.error().number);
  return last_fence_;
}

os::Result<os::Done> Ledger::keep(std::uint64_t seat, WallTime until) {
  return roster_.change(seat, [&](Entry& entry) { entry.kept = until; });
}

void Ledger::tell(std::uint64_t seat, const std::string& line) const {
  os::post(files().pipe_of(seat), line);
}

void Ledger::wake_first() {
  if (const Entry* waiter = roster_.first_waiter()) woken_ = waiter->seat;
}

void Ledger::wake_next() {
  const Entry* waiter = roster_.first_waiter();
  if (waiter == nullptr) return;
  const auto seat = waiter->seat;
  if (may_hold(seat, waiter->mode)) woken_ = seat;
}

std::size_t Ledger::most_watched() {
  constexpr std::size_t plenty = 64;
  return std::min(plenty, os::descriptor_limit() / 4);
}

bool Ledger::lives(std::uint64_t seat) const {
  return os::is_owned(files().pipe_of(seat));
}

os::Fd Ledger::watch(std::uint64_t seat) const {
  return os::watch_owner(files().pipe_of(seat));
}

}  // namespace store::local
