// The system's processes as /proc shows them, even if hardly a descriptor is free.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "os/fd.hpp"

namespace os {

/// A process as proc(5) describes it.
struct Process {
  pid_t pid;
  pid_t parent;
  char state;                // R S D T Z ... of proc(5)
  unsigned long long start;  // identifies the process together with the pid; 0: hidden from us
};

/// Throws std::system_error unless /proc shows the processes as we see them. Without it, or with
/// that of another PID namespace, rlock cannot find descendants.
void require_proc();

/// Whether our signals can never hit a process that reuses a pid. If not (before Linux 5.1, or
/// where pidfd_send_signal(2) is refused), signals go by number. They hit a wrong process only if
/// every number is reused between a look and the signal.
bool can_signal_exactly();

/// Whether /proc is mounted with hidepid=. Then processes that their user may not trace (ssh-agent,
/// set-user-ID programs) are hidden, and rlock finds them only as children of visible ones.
bool proc_hides_processes();

/// Whether a process with that number exists; a zombie counts.
bool exists(pid_t pid);

/// Whether no process has that number, or it is a child of ours to be reaped. Any thread.
bool has_ended(pid_t pid);

/// Whether the process signals all processes of a service one by one: process 1, systemd for a
/// user, or (0) a process outside of our PID namespace.
bool is_service_manager(pid_t pid);

/// Throws std::system_error unless enough descriptors are free for a job. Reserves some for looks:
/// without a descriptor rlock would see no process. A fork inherits the reserve.
void reserve_descriptors();

/// One look. If no other descriptor is free, it uses the reserve, and refills it afterwards. A
/// process that it did not find is certainly absent only if error() is 0. One thread of a process.
class Look {
 public:
  Look() = default;
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;
  ~Look();

  /// The errno value if a look missed something for want of descriptors, memory or /proc itself.
  [[nodiscard]] int error() const { return error_; }

  std::optional<Process> at(pid_t pid);
  /// `directory` is one of /proc.
  std::optional<Process> at(const Fd& directory);
  Fd directory_of(pid_t pid);
  /// The processes found by then, in the order of their numbers.
  std::vector<Process> all(base::Deadline until);
  /// The kernel's list of a thread's children.
  Fd list_of_children(pid_t process, pid_t thread);
  std::vector<pid_t> first_children_of(pid_t parent);

 private:
  Fd open(int directory, const char* path, int flags);
  std::optional<Process> read_stat(const Fd& file);
  std::vector<pid_t> numbered_entries(const std::string& path);

  int error_ = 0;
};

/// The first ten thousand. The others move up when these are dead.
std::vector<pid_t> first_in(const Fd& list);

// Pure, exposed for the unit tests.

/// Parses the text of /proc/PID/stat. The name in it may contain anything.
std::optional<Process> process_in(std::string_view stat);
/// Parses the numbers of a file such as /proc/1/task/1/children, "4 8 15 ".
std::vector<pid_t> pids_in(std::string_view children);

}  // namespace os
