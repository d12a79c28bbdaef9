#include "os/proc.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>

#include "base/fields.hpp"
#include "os/error.hpp"
#include "os/file.hpp"

namespace os {

// The name in parentheses may contain anything, even parentheses and newlines: count fields from
// the last one.
std::optional<Process> process_in(std::string_view stat) {
  const auto close = stat.rfind(')');
  Process process{0, 0, '?', 0};
  const auto number = [](std::string_view text, auto& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end != text.data();
  };
  if (close == stat.npos || !number(stat, process.pid)) return std::nullopt;
  stat.remove_prefix(close + 1);
  // proc(5): field 3 is the state, 4 the parent, 22 the start time.
  int found = 0;
  for (int field = 3; field <= 22; ++field) {
    stat.remove_prefix(std::min(stat.find_first_not_of(' '), stat.size()));
    const auto word = stat.substr(0, stat.find(' '));
    if (word.empty()) return std::nullopt;
    if (field == 3) process.state = word.front();
    if (field == 4) found += number(word, process.parent) ? 1 : 0;
    if (field == 22) found += number(word, process.start) ? 1 : 0;
    stat.remove_prefix(word.size());
  }
  return found == 2 ? std::optional{process} : std::nullopt;
}

std::vector<pid_t> pids_in(std::string_view children) {
  std::vector<pid_t> pids;
  const char* at = children.data();
  const char* const end = at + children.size();
  for (pid_t pid = 0; at != end; ++at) {
    const auto [stop, error] = std::from_chars(at, end, pid);
    if (error != std::errc{} || stop == end) break;
    pids.push_back(pid);
    at = stop;
  }
  return pids;
}

namespace {

// A look has a directory and one of its files open, and may pin a process meanwhile.
constexpr std::size_t most_reserved = 3;
// Needed beside a job: the reserve, guardian and witness, a second connection, files at release.
constexpr std::size_t least_free = 10;
// If that many numbers above ours are free, counting is unnecessary.
constexpr rlim_t plenty = 64;

// Of this process; a fork inherits it. Main thread.
std::array<Fd, most_reserved> reserve;
bool is_kept = false;

Fd one_more() {
  return Fd{::open("/", O_PATH | O_CLOEXEC)};
}

/// Returns false if the reserve is used up.
bool give_one_back() {
  for (Fd& each : reserve) {
    if (!each) continue;
    each = Fd{};
    return true;
  }
  return false;
}

bool is_want(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM;
}

std::string tasks_of(pid_t process) {
  return "/proc/" + std::to_string(process) + "/task/";
}

bool has_plenty_above(const Fd& fd) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
         static_cast<rlim_t>(fd.number()) + plenty < limit.rlim_cur;
}

}  // namespace

void reserve_descriptors() {
  if (is_kept) return;
  std::array<Fd, least_free> needed;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    needed[i] = one_more();
    if (!needed[i]) fail("a job needs " + std::to_string(least_free) + " free file descriptors");
    if (i == most_reserved && has_plenty_above(needed[i])) break;
  }
  std::move(needed.begin(), needed.begin() + most_reserved, reserve.begin());
  is_kept = true;
}

// ---- a look --------------------------------------------------------------------------------

Look::~Look() {
  for (Fd& each : reserve) {
    if (is_kept && !each) each = one_more();
  }
}

Fd Look::open(int directory, const char* path, int flags) {
  const auto once = [&] { return Fd{::openat(directory, path, flags | O_RDONLY | O_CLOEXEC)}; };
  Fd fd = once();
  while (!fd && is_want(errno) && give_one_back()) fd = once();
  if (!fd && is_want(errno)) error_ = errno;
  return fd;
}

std::optional<Process> Look::read_stat(const Fd& file) {
  if (!file) return std::nullopt;
  std::array<char, 1024> text{};
  const ssize_t size = ::read(file.number(), text.data(), text.size());
  if (size < 0 && is_want(errno)) error_ = errno;
  if (size <= 0) return std::nullopt;
  return process_in({text.data(), static_cast<std::size_t>(size)});
}

std::optional<Process> Look::at(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  return read_stat(open(AT_FDCWD, path.c_str(), 0));
}

std::optional<Process> Look::at(const Fd& directory) {
  return read_stat(open(directory.number(), "stat", 0));
}

Fd Look::directory_of(pid_t pid) {
  return open(AT_FDCWD, ("/proc/" + std::to_string(pid)).c_str(), O_DIRECTORY);
}

std::vector<pid_t> Look::numbered_entries(const std::string& path) {
  std::vector<pid_t> numbers;
  const auto read =
      for_each_name(open(AT_FDCWD, path.c_str(), O_DIRECTORY), [&](std::string_view name) {
        if (const auto number = base::number_in<pid_t>(name)) numbers.push_back(*number);
      });
  if (!read && is_want(read.error().number)) error_ = read.error().number;
  return numbers;
}

std::vector<Process> Look::all(base::Deadline until) {
  std::vector<Process> found;
  const auto numbers = numbered_entries("/proc");
  // A /proc that was unmounted in the meantime is an empty directory and shows not even us.
  const bool shows_us = std::count(numbers.begin(), numbers.end(), ::getpid()) != 0;
  if (!shows_us && error_ == 0) error_ = ENOENT;
  for (const pid_t pid : numbers) {
    if (auto process = at(pid)) found.push_back(*process);
    if (until.passed(base::now())) break;
  }
  return found;
}

Fd Look::list_of_children(pid_t process, pid_t thread) {
  const std::string path = tasks_of(process) + std::to_string(thread) + "/children";
  return open(AT_FDCWD, path.c_str(), 0);
}

std::vector<pid_t> Look::first_children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const pid_t thread : numbered_entries(tasks_of(parent))) {
    const auto pids = first_in(list_of_children(parent, thread));
    children.insert(children.end(), pids.begin(), pids.end());
  }
  return children;
}

std::vector<pid_t> first_in(const Fd& list) {
  constexpr std::size_t page = 4096;  // the kernel's unit of reading
  constexpr std::size_t longest_number = 16;
  std::string text;
  for (std::size_t had = 0; had < 16 * page;) {
    text.resize(had + page);
    const ssize_t size = ::pread(list.number(), text.data() + had, page, static_cast<off_t>(had));
    had += static_cast<std::size_t>(std::max<ssize_t>(size, 0));
    text.resize(had);
    if (size < static_cast<ssize_t>(page - longest_number)) break;
  }
  return pids_in(text);
}

// ---- what of /proc there is -------------------------------------------------------------------

void require_proc() {
  std::array<char, 32> target{};
  const ssize_t size = ::readlink("/proc/self", target.data(), target.size());
  if (size < 0) fail("cannot watch over a job without /proc (mount -t proc proc /proc)");
  const std::string_view self{target.data(), static_cast<std::size_t>(size)};
  if (self == std::to_string(::getpid())) return;
  fail("cannot watch over a job: /proc is that of another PID namespace (mount -t proc proc /proc)",
       ESRCH);
}

bool proc_hides_processes() {
  // mountinfo(5) in proc(5): "... /proc ... - proc proc rw,hidepid=invisible"; the last one counts.
  bool hides = false;
  const std::string mounts = contents_of("/proc/self/mountinfo").value_or("");
  for (std::string_view rest = mounts; !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.find(" /proc ") == line.npos || line.find(" - proc ") == line.npos) continue;
    hides = line.find("hidepid=") != line.npos && line.find("hidepid=off") == line.npos;
  }
  return hides;
}

bool can_signal_exactly() {
  const Fd self{::open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  return ::syscall(SYS_pidfd_send_signal, self.number(), 0, nullptr, 0) == 0;
}

bool exists(pid_t pid) {
  return ::kill(pid, 0) == 0 || errno == EPERM;
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
    return info.si_pid == pid;
  }
  return !exists(pid);
}

bool is_service_manager(pid_t pid) {
  return pid <= 1 ||
         contents_of("/proc/" + std::to_string(pid) + "/comm").value_or("") == "systemd\n";
}

}  // namespace os
