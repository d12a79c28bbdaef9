// Looks at the processes by way of /proc, also where hardly a descriptor is free.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "os/fd.hpp"

namespace os {

/// What proc(5) tells of a process.
struct Process {
  pid_t pid;
  pid_t parent;
  char state;                // R S D T Z ... of proc(5)
  unsigned long long start;  // with the pid, the process's identity; 0: it is hidden from us
};

/// Throws std::system_error unless /proc shows the processes as we see them: without it, or with
/// that of another PID namespace, no descendant can be found.
void require_proc();

/// Whether a signal of ours can never hit a process that has the number of one that has ended. If
/// not (before Linux 5.1, or where pidfd_send_signal(2) is refused), signals go by number: they hit
/// a wrong process only if every number is given out between a look and the signal that follows.
bool can_signal_exactly();

/// Whether /proc is mounted with hidepid=: then a process that its user may not trace (ssh-agent,
/// what has a set-user-ID) is hidden, and found only as the child of one that is not.
bool proc_hides_processes();

/// Whether there is a process of that number, be it a zombie.
bool exists(pid_t pid);

/// Whether there is none of that number, or it is a child of ours that waits to be reaped. Any
/// thread.
bool has_ended(pid_t pid);

/// Whether it is one that signals all processes of a service one after the other: process 1,
/// systemd for a user, or (0) one outside of our PID namespace.
bool is_service_manager(pid_t pid);

/// Throws std::system_error unless as many descriptors are free as a job needs. Keeps some of them
/// for looks: a program that cannot open a file would see no process. A fork keeps them as well.
void reserve_descriptors();

/// One look, which spends the reserve where no other descriptor is free, and then fills it again.
/// What it did not find is not there only if error() is 0. One thread of a process.
class Look {
 public:
  Look() = default;
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;
  ~Look();

  /// The errno value of what could not be seen for want of descriptors, memory or /proc itself.
  [[nodiscard]] int error() const { return error_; }

  std::optional<Process> at(pid_t pid);
  /// `directory`: one of /proc.
  std::optional<Process> at(const Fd& directory);
  Fd directory_of(pid_t pid);
  /// Those found by then, in the order of their numbers.
  std::vector<Process> all(base::Deadline until);
  /// The kernel's list, of a thread.
  Fd list_of_children(pid_t process, pid_t thread);
  std::vector<pid_t> first_children_of(pid_t parent);

 private:
  Fd open(int directory, const char* path, int flags);
  std::optional<Process> read_stat(const Fd& file);
  std::vector<pid_t> numbered_entries(const std::string& path);

  int error_ = 0;
};

/// The first ten thousand. The others come first when these are dead.
std::vector<pid_t> first_in(const Fd& list);

// What of it is pure, for the unit tests.

/// From the text of /proc/PID/stat. The name in it may hold anything.
std::optional<Process> process_in(std::string_view stat);
/// The numbers in a file such as /proc/1/task/1/children, "4 8 15 ".
std::vector<pid_t> pids_in(std::string_view children);

}  // namespace os
