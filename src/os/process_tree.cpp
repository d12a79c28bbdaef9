#include "os/process_tree.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/clock.hpp"
#include "os/error.hpp"
#include "os/fd.hpp"
#include "os/signals.hpp"

namespace os {

std::vector<Process> descendants(const std::vector<Process>& all, pid_t root,
                                 const std::vector<pid_t>& not_ours) {
  std::vector<Process> tree;
  const auto add_children_of = [&](pid_t parent) {
    for (const Process& process : all) {
      const bool excluded =
          parent == root && std::binary_search(not_ours.begin(), not_ours.end(), process.pid);
      if (process.parent == parent && !excluded) tree.push_back(process);
    }
  };
  add_children_of(root);
  for (std::size_t i = 0; i < tree.size(); ++i) add_children_of(tree[i].pid);
  return tree;
}

namespace {

/// Signals by number alone. That is exact for our own children, which only we reap. Any other
/// process may have ended since the last look, and if every number was reused meanwhile, the signal
/// hits a stranger. Returns 0 or an errno value.
int signal_by_number(pid_t pid, const siginfo_t& info) {
  if (::syscall(SYS_rt_sigqueueinfo, pid, info.si_signo, &info) == 0) return 0;
  // A seccomp profile that allows few system calls allows this one.
  return ::kill(pid, info.si_signo) == 0 ? 0 : errno;
}

/// `pinned` means this process even if its number is reused; without it, the signal goes by number.
/// Returns 0 if sent, ESRCH if the process is gone, another errno value if the kernel refused.
int send_signal(pid_t pid, const Fd& pinned, int number) {
  // A mark of its own for a nested run: the job below that is also a member.
  siginfo_t info{};
  info.si_signo = number;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_int = Signals::whole_tree;
  if (pinned) {
    if (::syscall(SYS_pidfd_send_signal, pinned.number(), number, &info, 0) == 0) return 0;
    if (errno == ESRCH) return ESRCH;
  }
  return signal_by_number(pid, info);
}

/// An open directory of /proc pins its process as a pidfd does, and pidfd_send_signal(2) accepts
/// it. If its start time is unchanged, it is the process that we mean, and stays so. pidfd_open(2)
/// is younger and refused in more places.
int signal_exactly(const Process& process, int number) {
  Look look;
  const Fd directory = look.directory_of(process.pid);
  if (!directory && errno == ENOENT) return ESRCH;
  auto now = directory ? look.at(directory) : process;
  // Without a spare descriptor a process can be signalled, but not looked at again.
  if (!now && look.error() != 0) now = process;
  if (!now || now->start != process.start) return ESRCH;
  return send_signal(process.pid, directory, number);
}

/// A process that /proc hides (hidepid=), with a pidfd of it if the kernel gives one.
struct Hidden {
  Process process;
  Fd pidfd;
};

/// Nothing if the process has ended.
std::optional<Hidden> pin_hidden(Look& look, const Process& process) {
  Hidden hidden{process, Fd{static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0))}};
  if (!hidden.pidfd && errno == ESRCH) return std::nullopt;
  // If it is a child of that parent after the pidfd was opened, the pidfd means this process.
  const auto siblings = look.first_children_of(process.parent);
  if (std::count(siblings.begin(), siblings.end(), process.pid) == 0) return std::nullopt;
  return hidden;
}

std::vector<pid_t> children_now() {
  // Ask this cheap question first: nearly always there are none.
  siginfo_t info{};
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0) return {};
  std::vector<pid_t> pids;
  const pid_t self = ::getpid();
  Look look;
  for (const Process& process : look.all(base::Deadline::never())) {
    if (process.parent == self) pids.push_back(process.pid);
  }
  if (look.error() != 0) fail("looking for our own children", look.error());
  std::sort(pids.begin(), pids.end());
  return pids;
}

/// Under autogroup scheduling (sched(7)) a process's nice value counts only within its session.
void set_session_nice(int nice) {
  const Fd file{::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC)};
  if (!file) return;
  const std::string text = std::to_string(nice);
  (void)!::write(file.number(), text.data(), text.size());
}

// The length of a slice of kill_children(), or of a look for a first blow. Our own work continues
// after it.
constexpr base::Millis longest_kill{20};
// A killed process can take this long to die, and only then do its children reach us.
constexpr base::Millis quiet_time{10};
// A child of a fork storm lives for some ten microseconds. Reaping a dead one takes as long,
// fifteen times as long as a kill. So kill the living before reaping the thousands that died while
// we were not scheduled. But the dead make each look longer, so reap some each time.
constexpr int reaped_a_look = 64;
// The time to find processes that the lists of children miss, when all are asked to end. Meanwhile
// no signal that demands a kill is read, and a process that is not found is killed in the end.
constexpr base::Millis longest_search{1'000};

}  // namespace

void Reached::note(pid_t pid, int error) {
  if (error == 0) ++processes;
  if (error != 0 && error != ESRCH) refused = {pid, error};
}

std::string Reached::Refused::text(int signal) const {
  const char* name = ::sigabbrev_np(signal);
  const std::string shown = name != nullptr ? std::string{"SIG"} + name : std::to_string(signal);
  return "cannot send " + shown + " to process " + std::to_string(pid) +
         " of the job: " + describe(error);
}

Urgency::Urgency(Session session) : session_{session}, usual_{::getpriority(PRIO_PROCESS, 0)} {
  constexpr int most_urgent = -20;
  (void)::setpriority(PRIO_PROCESS, 0, most_urgent);
  if (session_ == Session::own) set_session_nice(most_urgent);
}

Urgency::~Urgency() {
  (void)::setpriority(PRIO_PROCESS, 0, usual_);
  if (session_ == Session::own) set_session_nice(0);
}

Ticks ticks_now() {
  timespec now{};
  check(::clock_gettime(CLOCK_BOOTTIME, &now), "reading the clock");
  static const long in_a_second = ::sysconf(_SC_CLK_TCK);
  const auto second = static_cast<Ticks>(now.tv_sec);
  constexpr Ticks ns = 1'000'000'000;
  const auto ticks = static_cast<Ticks>(in_a_second);
  return second * ticks + static_cast<Ticks>(now.tv_nsec) * ticks / ns;
}

void Heirs::note_signalled(const Process& process, Ticks now) {
  signalled_.emplace(process.pid, now);
}

bool Heirs::take(const Process& process) {
  if (process.start == 0 || signalled_.contains(process.pid)) return false;
  const auto parent = signalled_.find(process.parent);
  const bool is_heir = heirs_.contains(process.parent) ||
                       (parent != signalled_.end() && process.start >= parent->second);
  if (is_heir) heirs_.insert(process.pid);
  return is_heir;
}

ProcessTree::ProcessTree() : not_ours_{children_now()} {
  reserve_descriptors();
  check(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "becoming a subreaper");
}

bool ProcessTree::may_get_strangers() const {
  return !not_ours_.empty() || ::getpid() == 1;
}

void ProcessTree::be_below(pid_t guardian) {
  guardian_ = guardian;
  if (since_ != 0) return;
  const auto process = Look{}.at(guardian);
  since_ = process ? std::max(process->start, 1ULL) : 1;
}

void ProcessTree::exclude(pid_t child) {
  excluded_.push_back(child);
}

void ProcessTree::inherit() {
  guardian_ = 0;
}

void ProcessTree::disband() {
  guardian_ = -1;
}

pid_t ProcessTree::root() const {
  return guardian_ != 0 ? guardian_ : ::getpid();
}

/// The root's children that are not members, sorted.
std::vector<pid_t> ProcessTree::strangers(const std::vector<Process>& all) const {
  if (guardian_ != 0) return {};
  std::vector<pid_t> pids = not_ours_;
  pids.insert(pids.end(), excluded_.begin(), excluded_.end());
  if (is_inherited() && may_get_strangers()) {
    const pid_t self = root();
    for (const Process& process : all) {
      if (process.parent == self && process.start < since_) pids.push_back(process.pid);
    }
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

/// `hidden`: processes in the kernel's lists of children that /proc hides.
std::vector<Process> ProcessTree::members(Look& look, base::Deadline until,
                                          const std::vector<Process>& hidden) const {
  if (is_disbanded()) return {};
  auto all = look.all(until);
  all.insert(all.end(), hidden.begin(), hidden.end());
  return descendants(all, root(), strangers(all));
}

/// As members(), but from the kernel's own lists of children. That takes microseconds; a look at
/// every process of a busy host takes tens of milliseconds. The lists may miss a sibling of a
/// process that exits just now (proc(5)), and some kernels have none: use it for a first blow only.
std::vector<Process> ProcessTree::members_at_hand(Look& look) const {
  if (is_disbanded()) return {};
  // If every child has a new child by the next look, this would never end.
  const auto until = base::Deadline::after(base::now(), longest_kill);
  std::vector<pid_t> parents{root()};
  std::vector<Process> found;
  for (std::size_t i = 0; i < parents.size() && !until.passed(base::now()); ++i) {
    for (const pid_t child : look.first_children_of(parents[i])) {
      const auto process = look.at(child);
      // If it has ended in the meantime, the signal will find that out.
      found.push_back(process.value_or(Process{child, parents[i], '?', 0}));
      parents.push_back(child);
      if (until.passed(base::now())) break;
    }
  }
  return descendants(found, root(), strangers(found));
}

bool ProcessTree::is_member(pid_t pid) const {
  Look look;
  // A parent may end while we climb up; its children then have another one.
  for (int attempt = 0; attempt < 3; ++attempt) {
    auto process = look.at(pid);
    if (!process) return false;
    while (process && process->parent != root()) {
      if (process->parent <= 1) return false;
      process = look.at(process->parent);
    }
    if (!process) continue;
    const auto others = strangers({*process});
    return !std::binary_search(others.begin(), others.end(), process->pid);
  }
  return false;
}

Reached ProcessTree::signal(int number, Members which) const {
  const Urgency urgency;  // a look includes the dead of a storm, perhaps thousands
  Look look;
  const auto at_hand = members_at_hand(look);
  // Before any signal: the parents that reveal them may end of it.
  std::map<pid_t, Hidden> hidden;
  for (const Process& process : at_hand) {
    if (process.start != 0) continue;
    if (auto pinned = pin_hidden(look, process)) hidden.emplace(process.pid, std::move(*pinned));
  }
  Reached reached;
  std::set<std::pair<pid_t, unsigned long long>> tried;
  Heirs heirs;
  const auto reach = [&](const Process& process) {
    if (which == Members::outside_our_group && ::getpgid(process.pid) == ::getpgrp()) return;
    if (!tried.emplace(process.pid, process.start).second) return;
    reached.members.push_back(process);
    if (process.start == 0) {
      const auto found = hidden.find(process.pid);
      if (found == hidden.end()) return;
      reached.note(process.pid, send_signal(process.pid, found->second.pidfd, number));
      return;
    }
    reached.note(process.pid, signal_exactly(process, number));
    // A stopped process acts on a signal only when it runs again, unless the signal is SIGSTOP.
    const bool acts_later = number != SIGKILL && number != SIGSTOP;
    if (acts_later && process.state == 'T') (void)signal_exactly(process, SIGCONT);
  };
  // The end of a lease cannot wait for the long look below.
  for (const Process& process : at_hand) {
    heirs.note_signalled(process, ticks_now());
    reach(process);
  }
  const auto until = number == SIGKILL ? base::Deadline::never()
                                       : base::Deadline::after(base::now(), longest_search);
  std::vector<Process> unseen;
  unseen.reserve(hidden.size());
  for (const auto& [pid, each] : hidden) unseen.push_back(each.process);
  // The commands of a handler are to do their work.
  const bool spares_heirs = number != SIGKILL && number != SIGSTOP;
  for (const Process& process : members(look, until, unseen)) {
    if (!spares_heirs || !heirs.take(process)) reach(process);
  }
  reached.unseen = look.error();
  return reached;
}

bool ProcessTree::kill_children(const std::function<void(const Change&)>& on_change) {
  const auto until = base::Deadline::after(base::now(), longest_kill);
  const pid_t self = ::getpid();
  const Fd children = Look{}.list_of_children(self, self);
  std::unordered_set<pid_t> killed;
  for (auto quiet = base::Deadline::after(base::now(), quiet_time);;) {
    const auto now = base::now();  // before the look: we may not be scheduled for longer than that
    if (until.passed(now)) return false;
    const auto pids = first_in(children);
    if (pids.empty()) return true;
    bool grown = false;
    // An unreaped child keeps its number, so its identity need not be checked.
    for (const pid_t child : pids) {
      grown = killed.insert(child).second || grown;
      (void)::kill(child, SIGKILL);
    }
    if (grown) quiet = base::Deadline::after(base::now(), quiet_time);
    if (quiet.passed(now)) return true;
    for (int reaped = 0; reaped < reaped_a_look; ++reaped) {
      const auto change = reap();
      if (!change) break;
      killed.erase(change->pid);
      on_change(*change);
    }
  }
}

Reached ProcessTree::resume() const {
  Reached reached;
  Look look;
  for (const Process& process : members(look, base::Deadline::never(), {})) {
    if (process.state == 'T') reached.note(process.pid, signal_exactly(process, SIGCONT));
  }
  reached.unseen = look.error();
  return reached;
}

bool ProcessTree::empty() const {
  if (is_disbanded()) return true;
  siginfo_t info{};
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0) return true;  // ECHILD
  // The guardian ends when the tree below it is gone.
  if (guardian_ != 0) return false;
  if (!may_get_strangers()) return false;
  Look look;
  return members(look, base::Deadline::never(), {}).empty() && look.error() == 0;
}

}  // namespace os
