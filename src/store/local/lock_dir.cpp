#include "store/local/lock_dir.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/text.hpp"
#include "os/host.hpp"
#include "store/local/mail.hpp"

namespace store::local {
namespace {

// The last numbers, then blanks, for an earlier version reads so much and wants nothing else there;
// then, as a record of what is remembered is, the outline of the queue.
constexpr const char* file_name = "ledger";
constexpr std::size_t outline_at = 256;
constexpr std::size_t ledger_length = outline_at + record_length;
// Fences are times as well: as long as no clock is set back by more, they grow without the last
// one.
constexpr Millis fence_lasts = std::chrono::hours{24};
// A look at a file each.
constexpr std::size_t most_forgotten = 16;
// Directories that go with the last process: the lock's own, the server's, that of all gates.
constexpr int levels_of_gates = 3;

/// The lock's own directory; none if it does not exist, or no longer.
Result<os::Directory> directory_of(const LocalDirectory& locks, const std::string& file,
                                   os::Missing missing) {
  const auto above = open_directory(locks, missing);
  if (!above) return above.error();
  auto found = above->below(file, missing);
  if (found) return *std::move(found);
  const auto& error = found.error();
  if (error.number == ENOENT) return os::Directory{};
  const auto path = fmt::format("{}/{}", locks.path, file);
  if (error.number != EPERM || !above->sharing().is_sticky) return fault_of(path, error);
  return Fault{Fault::Kind::denied,
               path +
                   ": another user's: locks of several users take a directory that a group may "
                   "write to (chmod 2770)"};
}

}  // namespace

Result<LockDir> LockDir::open(const LocalDirectory& directory, const LockName& name,
                              os::Missing missing, const CallLimit& limit) {
  const bool create = missing == os::Missing::create;
  const auto file_of_name = file_of(name);
  if (!file_of_name) {
    return Fault{Fault::Kind::unusable, "the key is too long for the name of a file"};
  }
  for (;;) {
    auto own = directory_of(directory, *file_of_name, missing);
    if (!own) return std::move(own).error();
    auto opened = os::LockedFile::open(*own, file_name, missing, limit);
    // The last process that used it may have removed the directory meanwhile, or somebody moved it.
    if (!opened && opened.error().number != ENOENT) return fault_of(own->path(), opened.error());
    const auto in_place = opened ? own->is_in_place() : os::Result<bool>{false};
    if (!in_place) return fault_of(own->path(), in_place.error());
    const bool is_gone = !*in_place;
    if (!is_gone || !create) {
      auto file = is_gone ? nullptr : std::make_unique<os::LockedFile>(*std::move(opened));
      // In a sticky directory the key is free for other users when nobody of ours is at it.
      const bool remembers = !directory.is_of_gates && !own->sharing().is_sticky;
      LockDir lock{directory, remembers, QueueFiles{*own}, std::move(file)};
      if (const auto read = lock.read(); !read) return fault_of(own->path(), read.error());
      return lock;
    }
    const auto pause = limit.at_most(Deadline::after(base::now(), Millis{1}));
    const bool interrupted = os::wait_for(-1, os::Want::read, pause) == os::Ready::interrupted;
    if (interrupted || limit.until.passed(base::now())) {
      return fault_of(own->path(), {ENOENT, {}});
    }
  }
}

LockDir::~LockDir() {
  if (!file_) return;
  if (!remembers_ && queue_.anyone() == nullptr) {
    files().directory().remove(file_name);
    // As far as they are empty.
    auto directory = files().directory();
    const int levels = is_gate_ ? levels_of_gates : 1;
    for (int level = 0; level < levels && directory.remove_itself(); ++level) {
      directory = os::Directory{directory.above()};
    }
  } else if (queue_.has_changed()) {
    (void)write_ledger();  // else the next process lists the directory
  }
  file_.reset();
  // An unread message will wake it, and the message's age tells whether it answers.
  if (!woken_) return;
  const auto pipe = files().pipe_of(*woken_);
  // After the clock was set back, the time of the last post says nothing: start it anew.
  const auto silence = os::unread_for(pipe);
  if (!silence || *silence < Millis{0}) os::post(pipe, look);
}

LockDir::LockDir(const LocalDirectory& directory, bool remembers, QueueFiles files,
                 std::unique_ptr<os::LockedFile> file)
    : is_gate_{directory.is_of_gates},
      remembers_{remembers},
      queue_{std::move(files)},
      file_{std::move(file)} {
  if (remembers_ && file_) memory_.emplace(queue_.files().directory());
}

os::Result<os::Done> LockDir::read() {
  if (!file_) return os::Done{};
  auto text = file_->text(ledger_length);
  if (!text) return std::move(text).error();
  const std::string_view ledger{*text};
  const auto numbers = numbers_in(ledger.substr(0, outline_at));
  if (numbers.size() == 2) {
    last_fence_ = numbers[0];
    last_ticket_ = numbers[1];
    is_new_ = false;
  }
  const auto record = text_in(ledger.substr(std::min(outline_at, ledger.size())));
  auto outline = record ? outline_in(*record) : std::nullopt;
  const bool is_right = outline && outline->last_fence == last_fence_ &&
                        outline->last_ticket == last_ticket_ &&
                        outline->changed_at == files().directory().names_changed_at();
  if (!is_right) outline.reset();
  if (auto read = queue_.read(outline ? std::optional{std::move(outline->tickets)} : std::nullopt);
      !read) {
    remembers_ = true;  // there may be entries
    return read;
  }
  // Should the file have been removed, no number may come again.
  last_ticket_ = std::max(last_ticket_, queue_.last_ticket());
  return os::Done{};
}

std::optional<Fence> LockDir::last_fence() const {
  return last_fence_ == 0 ? std::nullopt : std::optional{last_fence_};
}

void LockDir::forget_if_over() {
  if (!memory_ || queue_.anyone() != nullptr || !memory_->is_over()) return;
  const auto unused_for = files().directory().unchanged_for(file_name);
  if (!unused_for || *unused_for < fence_lasts) return;
  memory_->remove();
  remembers_ = false;
}

void LockDir::forget_some(const LocalDirectory& directory) {
  const auto all = open_directory(directory, os::Missing::give_up);
  if (!all) return;
  std::vector<LockName> names;
  (void)all->for_each_name([&](std::string_view file) {
    if (auto name = name_of(file)) names.push_back(*std::move(name));
  });
  // Each time some others; one time is a random number to a directory.
  const auto first = static_cast<std::size_t>(wall_now());
  for (std::size_t i = 0; i < std::min(names.size(), most_forgotten); ++i) {
    const LockName& name = names[(first + i) % names.size()];
    const auto own = all->below(*file_of(name), os::Missing::give_up);
    const auto unused_for = own ? own->unchanged_for(file_name) : std::nullopt;
    if (!unused_for || *unused_for < fence_lasts) continue;
    // Where somebody has it locked, it is used.
    auto lock = open(directory, name, os::Missing::give_up, {Deadline::at(base::now())});
    if (lock) lock->forget_if_over();
  }
}

os::Result<os::Done> LockDir::write_ledger() const {
  auto text = twenty_digits(last_fence_) + " " + twenty_digits(last_ticket_) + "\n";
  text.resize(outline_at, ' ');
  const Outline outline{last_fence_, last_ticket_, files().directory().names_changed_at(),
                        queue_.tickets()};
  return file_->overwrite(text + record_of(text_of(outline)));
}

os::Result<OwnEntry> LockDir::enqueue(const Token& token, const Mode& mode,
                                      const std::string& slot) {
  ++last_ticket_;
  queue_.expect(last_ticket_);
  if (auto written = write_ledger(); !written) return std::move(written).error();
  auto pipe = queue_.add({last_ticket_, token, mode, wall_now(), std::nullopt, std::nullopt, slot});
  if (!pipe) return std::move(pipe).error();
  return OwnEntry{last_ticket_, *std::move(pipe)};
}

os::Result<os::Done> LockDir::grant(std::uint64_t ticket, Fence fence, unsigned permit) {
  last_fence_ = fence;
  queue_.expect_grant(ticket);
  if (auto written = write_ledger(); !written) {
    queue_.expect_no_grant(ticket);
    return written;
  }
  return queue_.change(ticket, [&](QueueEntry& entry) {
    entry.fence = fence;
    entry.since = wall_now();
    entry.permit = permit;
  });
}

os::Result<os::Done> LockDir::keep_until(std::uint64_t ticket, WallTime until) {
  return queue_.change(ticket, [&](QueueEntry& entry) { entry.kept_until = until; });
}

bool LockDir::post(std::uint64_t ticket, const std::string& line) const {
  return os::post(files().pipe_of(ticket), line);
}

bool LockDir::answers(const QueueEntry& entry) const {
  const auto silence = os::unread_for(files().pipe_of(entry.ticket));
  return !silence || *silence < longest_silence;
}

const QueueEntry* LockDir::first_that_answers(std::uint64_t from) {
  return queue_.first_waiter(
      [&](const QueueEntry& each) { return each.ticket >= from && answers(each); });
}

std::vector<QueueEntry> LockDir::holders() {
  auto holders = queue_.holders();
  if (is_gate_) std::erase_if(holders, [&](const QueueEntry& each) { return !answers(each); });
  return holders;
}

void LockDir::ask_holders() {
  for (const QueueEntry& each : queue_.holders()) {
    const auto pipe = files().pipe_of(each.ticket);
    if (!os::unread_for(pipe)) os::post(pipe, look);
  }
}

std::size_t LockDir::most_watched() {
  constexpr std::size_t plenty = 64;
  return std::min(plenty, os::descriptor_limit() / 4);
}

bool LockDir::lives(std::uint64_t ticket) const {
  return os::is_owned(files().pipe_of(ticket));
}

os::Fd LockDir::watch(std::uint64_t ticket) const {
  return os::watch_owner(files().pipe_of(ticket));
}

}  // namespace store::local
