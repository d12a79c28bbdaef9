#include "os/process_tree.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace unit::os_process_tree {

using os::descendants;
using os::pids_in;
using os::process_in;

namespace {

/// A line of proc(5) up to field 22 and beyond.
std::string stat(const std::string& pid, const std::string& name, const std::string& state,
                 const std::string& parent, const std::string& start) {
  return pid + " (" + name + ") " + state + " " + parent +
         " 5 6 7 -1 4194560 10 11 12 13 14 15 16 17 20 0 1 0 " + start + " 23 24 25\n";
}

std::vector<pid_t> pids(const std::vector<os::Process>& processes) {
  std::vector<pid_t> out;
  for (const auto& each : processes) out.push_back(each.pid);
  return out;
}

}  // namespace

TEST_CASE("a process is read from its line in /proc") {
  const auto process = process_in(stat("42", "sleep", "S", "7", "123456789"));
  REQUIRE(process);
  CHECK(process->pid == 42);
  CHECK(process->parent == 7);
  CHECK(process->state == 'S');
  CHECK(process->start == 123456789);
}

TEST_CASE("a process cannot lie with its name") {
  for (const auto* name : {"a) R 1 1 1", "(((", ")))", "a b c", "x\ny", ") Z 1 2 3 4 5", ""}) {
    CAPTURE(std::string{name});
    const auto process = process_in(stat("42", name, "T", "7", "99"));
    REQUIRE(process);
    CHECK(process->parent == 7);
    CHECK(process->state == 'T');
    CHECK(process->start == 99);
  }
}

TEST_CASE("a text that is not a line of a process is none") {
  const std::string whole = stat("42", "sleep", "S", "7", "99");
  CHECK_FALSE(process_in(""));
  CHECK_FALSE(process_in("42"));
  CHECK_FALSE(process_in("42 (sleep)"));
  CHECK_FALSE(process_in("42 (sleep) S 7"));
  CHECK_FALSE(process_in(stat("x", "sleep", "S", "7", "99")));
  CHECK_FALSE(process_in(stat("42", "sleep", "S", "x", "99")));
  CHECK_FALSE(process_in(stat("42", "sleep", "S", "7", "x")));
  CHECK_FALSE(process_in(whole.substr(0, whole.find(" 99"))));
  CHECK(process_in(whole.substr(0, whole.find(" 99") + 3)));
}

TEST_CASE("a list of children is read") {
  CHECK(pids_in("") == std::vector<pid_t>{});
  CHECK(pids_in("4 8 15 ") == std::vector<pid_t>{4, 8, 15});
  CHECK(pids_in("4 ") == std::vector<pid_t>{4});
  CHECK(pids_in("4 x 15 ") == std::vector<pid_t>{4});
  CHECK(pids_in("4 8") == std::vector<pid_t>{4});  // cut: who knows how the 8 goes on
}

TEST_CASE("a tree is the descendants, parents before children") {
  // 1 - 2 - 4 - 5      6, another tree
  //   \ 3
  const std::vector<os::Process> all{{5, 4, 'S', 0}, {4, 2, 'S', 0}, {3, 1, 'S', 0},
                                     {2, 1, 'S', 0}, {1, 0, 'S', 0}, {6, 0, 'S', 0}};
  CHECK(pids(descendants(all, 1, {})) == std::vector<pid_t>{3, 2, 4, 5});
  CHECK(pids(descendants(all, 2, {})) == std::vector<pid_t>{4, 5});
  CHECK(pids(descendants(all, 5, {})) == std::vector<pid_t>{});
  CHECK(pids(descendants({}, 1, {})) == std::vector<pid_t>{});
}

TEST_CASE("children from before are not of the tree, nor their descendants") {
  const std::vector<os::Process> all{
      {2, 1, 'S', 0}, {3, 1, 'S', 0}, {4, 2, 'S', 0}, {5, 3, 'S', 0}};
  CHECK(pids(descendants(all, 1, {2})) == std::vector<pid_t>{3, 5});
  CHECK(pids(descendants(all, 1, {2, 3})) == std::vector<pid_t>{});
  CHECK(pids(descendants(all, 1, {4})) == std::vector<pid_t>{2, 3, 4, 5});  // no child of ours
}

TEST_CASE("a living process is killed before the many dead are reaped") {
  const pid_t parent = ::fork();
  if (parent == 0) {
    for (int i = 0; i < 1'000; ++i) {
      if (::vfork() == 0) ::_exit(0);  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
    }
    const pid_t alive = ::fork();
    if (alive == 0) {
      for (;;) ::pause();
    }
    bool first = true;
    bool killed = false;
    (void)os::ProcessTree::kill_children([&](const os::Change&) {
      for (int ms = 0; first && !killed && ms < 1'000; ++ms) {
        siginfo_t end{};
        const auto id = static_cast<id_t>(alive);
        killed = ::waitid(P_PID, id, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == alive;
        ::usleep(1'000);
      }
      first = false;
    });
    (void)::kill(alive, SIGKILL);  // of a test that fails
    ::_exit(killed ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(parent, &status, 0) == parent);
  CHECK(status == 0);
}

TEST_CASE("a process that a handler started is told from one that was there at the signal") {
  os::Heirs heirs;
  heirs.note_signalled({10, 1, 'S', 500}, 1000);
  heirs.note_signalled({11, 10, 'S', 990}, 1001);
  CHECK_FALSE(heirs.take({10, 1, 'S', 500}));
  CHECK_FALSE(heirs.take({11, 10, 'S', 990}));
  CHECK_FALSE(heirs.take({12, 10, 'S', 999}));  // forked before the signal, and missed
  CHECK(heirs.take({13, 10, 'S', 1000}));       // by the handler, or so we think
  CHECK(heirs.take({14, 13, 'S', 1002}));       // and what that has started
  CHECK(heirs.take({15, 11, 'S', 1001}));
  CHECK_FALSE(heirs.take({16, 1, 'S', 1005}));   // its parent ended, and cannot pass the signal on
  CHECK_FALSE(heirs.take({17, 12, 'S', 1005}));  // of one that has not been signalled before
  CHECK_FALSE(heirs.take({18, 10, '?', 0}));     // hidden: nothing is known of it
}

TEST_CASE("the kernel's ticks are those of a process's start") {
  const auto before = os::ticks_now();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  REQUIRE(child > 0);
  const auto process = os::Look{}.at(child);
  const auto after = os::ticks_now();
  (void)::waitpid(child, nullptr, 0);
  REQUIRE(process);
  CHECK(process->start >= before);
  CHECK(process->start <= after);
}

}  // namespace unit::os_process_tree
