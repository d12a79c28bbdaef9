#include "os/process_tree.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {  // glibc 2.36 forgot to say so itself
#include <sys/pidfd.h>
}

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <string>
#include <string_view>

#include "os/error.hpp"
#include "os/fd.hpp"
#include "os/file.hpp"

namespace os {

// The name in parentheses may hold anything, parentheses and newlines too: fields count from the
// last one.
std::optional<Process> process_in(std::string_view stat) {
  const auto close = stat.rfind(')');
  Process process{0, 0, '?', 0};
  const auto number = [](std::string_view text, auto& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end != text.data();
  };
  if (close == stat.npos || !number(stat, process.pid)) return std::nullopt;
  stat.remove_prefix(close + 1);
  // proc(5): field 3 is the state, 4 the parent, 22 the time of the start.
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

std::optional<Process> look_at(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const Fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return std::nullopt;
  std::array<char, 1024> text{};
  const ssize_t size = ::read(file.number(), text.data(), text.size());
  if (size <= 0) return std::nullopt;
  return process_in({text.data(), static_cast<std::size_t>(size)});
}

std::vector<pid_t> numbered_entries(const char* path) {
  std::vector<pid_t> numbers;
  (void)for_each_name(path, [&](std::string_view name) {
    pid_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc{} && end == name.data() + name.size()) numbers.push_back(number);
  });
  return numbers;
}

std::vector<Process> all_processes() {
  std::vector<Process> found;
  for (const pid_t pid : numbered_entries("/proc")) {
    if (auto process = look_at(pid)) found.push_back(*process);
  }
  return found;
}

/// The members of the tree below this process, parents before children.
std::vector<Process> members(const std::vector<pid_t>& not_ours) {
  return descendants(all_processes(), ::getpid(), not_ours);
}

/// As members(), but by the kernel's own lists of children, which takes microseconds where a look
/// at every process of a busy host takes tens of milliseconds. The lists may miss a sibling of one
/// that exits just now (proc(5)), and some kernels have none: good for a first blow only.
std::vector<Process> members_at_hand(const std::vector<pid_t>& not_ours) {
  std::vector<pid_t> parents{::getpid()};
  std::vector<Process> tree;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const std::string tasks = "/proc/" + std::to_string(parents[i]) + "/task/";
    for (const pid_t task : numbered_entries(tasks.c_str())) {
      const std::string list = tasks + std::to_string(task) + "/children";
      const std::string text = contents_of(list).value_or("");
      for (const pid_t child : pids_in(text)) {
        if (i == 0 && std::binary_search(not_ours.begin(), not_ours.end(), child)) continue;
        const auto process = look_at(child);
        if (!process) continue;
        tree.push_back(*process);
        parents.push_back(child);
      }
    }
  }
  return tree;
}

/// A pid may have been given to a stranger since we read it. A pidfd pins the process that has it
/// now; if that one started when ours did, it is ours and stays so.
void signal_exactly(const Process& process, int number) {
  const Fd pidfd{::pidfd_open(process.pid, 0)};
  if (!pidfd) return;
  const auto now = look_at(process.pid);
  if (!now || now->start != process.start) return;
  (void)::pidfd_send_signal(pidfd.number(), number, nullptr, 0);
}

std::vector<pid_t> children_now() {
  // One cheap question first: nearly always there are none.
  siginfo_t info{};
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0) return {};
  std::vector<pid_t> pids;
  for (const Process& process : members({})) {
    if (process.parent == ::getpid()) pids.push_back(process.pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

}  // namespace

ProcessTree::ProcessTree() : not_ours_{children_now()} {
  check(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "becoming a subreaper");
}

std::size_t ProcessTree::signal(int number) const {
  if (number == SIGKILL) {
    // The end of the lease does not wait for the long look around that follows.
    for (const Process& process : members_at_hand(not_ours_)) signal_exactly(process, number);
  }
  const std::vector<Process> tree = members(not_ours_);
  for (const Process& process : tree) {
    signal_exactly(process, number);
    // A stopped process acts on a signal only once it runs again.
    if (number != SIGKILL && process.state == 'T') signal_exactly(process, SIGCONT);
  }
  return tree.size();
}

void ProcessTree::resume() const {
  for (const Process& process : members(not_ours_)) {
    if (process.state == 'T') signal_exactly(process, SIGCONT);
  }
}

bool ProcessTree::empty() const {
  siginfo_t info{};
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0) return true;  // ECHILD
  return !not_ours_.empty() && members(not_ours_).empty();
}

}  // namespace os
