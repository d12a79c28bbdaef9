#include "os/guard.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/log.hpp"
#include "base/result.hpp"
#include "os/file.hpp"
#include "os/poll.hpp"

namespace os {
namespace {

// Between two rounds of KILL, for what forked while we were looking.
constexpr base::Millis kill_rounds{10};

constexpr std::string_view name = "guardian";
// Reading one's own command line takes as long as a short job has.
constexpr base::Millis short_job{20};

/// Whoever kills rlock by its command line (pkill -f) is not to kill us with it.
void change_command_line() {
  const std::size_t room = contents_of("/proc/self/cmdline").value_or("").size();
  if (room <= name.size()) return;
  std::memset(::program_invocation_name, 0, room);  // where the kernel reads the command line
  name.copy(::program_invocation_name, name.size());
}

void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

void Guard::stand(const Program& program) {
  try {
    start_job(program);
    block_all_signals();
    ::setsid();  // not before: the job belongs to rlock's session and process group
    ::prctl(PR_SET_NAME, name.data());  // killall is not for us
    watch();
  } catch (const std::exception& error) {
    base::log::error("the guardian of the job: {}", error.what());
  }
  ::_exit(1);  // what is still there of the job goes to rlock
}

void Guard::start_job(const Program& program) {
  const auto spawned = Child::spawn(program, signals_);
  if (const auto* failure = std::get_if<NotStarted>(&spawned)) {
    const bool forked = failure->stage == NotStarted::Stage::exec;
    line_.send(
        Report{forked ? Report::Kind::not_executed : Report::Kind::not_forked, 0, failure->error});
    ::_exit(0);
  }
  job_ = std::get<Child>(spawned).pid();
  line_.send(Report{Report::Kind::started, job_, 0});
}

void Guard::watch() {
  base::Deadline settled = base::Deadline::after(base::now(), short_job);
  for (;;) {
    const int line = alone_ ? -1 : line_.descriptor();
    (void)wait_for(line, Want::read, {std::min(due(), settled), signals_.descriptor()});
    if (settled.passed(base::now())) {
      change_command_line();
      settled = base::Deadline::never();
    }
    (void)signals_.take();
    look_at_children();
    // The orders before the clock: one may say that the lease was extended.
    take_orders();
    if (must_kill()) kill_tree();
  }
}

base::Deadline Guard::due() const {
  return must_kill() ? base::Deadline::after(base::now(), kill_rounds) : until_;
}

void Guard::take_orders() {
  for (bool more = !alone_; more;) {
    base::match(
        line_.take<Order>(), [&](std::monostate) { more = false; },
        [&](const Order& order) {
          if (order.kind == Order::Kind::keep_until) {
            until_ = base::Deadline::at(order.until);
          } else if (!end_) {
            (void)::kill(job_, order.signal);
          }
        },
        [&](HungUp) { alone_ = true, more = false; });
  }
}

void Guard::look_at_children() {
  while (const auto change = reap()) {
    if (change->pid != job_) continue;
    const bool ended = change->kind == Change::Kind::ended;
    if (ended && tree_.empty()) leave({Report::Kind::all_ended, job_, change->status});
    const Report report{ended ? Report::Kind::ended : Report::Kind::stopped, job_, change->status};
    if (ended) end_ = report;
    line_.send(report);
  }
  if (end_ && tree_.empty()) ::_exit(0);
}

/// What rlock has of us when it hears this is an exit, which it need not wait for.
void Guard::leave(const Report& last) {
  const auto line = static_cast<unsigned>(line_.descriptor());
  if (line > 3) ::close_range(3, line - 1, 0);
  ::close_range(line + 1, ~0U, 0);
  line_.send(last);
  ::_exit(0);
}

void Guard::kill_tree() {
  if (!std::exchange(told_, true) && !end_) {
    base::log::error("process {} {}; killing its job", rlock_,
                     alone_ ? "was killed" : "stands still, and its time is over");
  }
  // Where /proc is not to be had, at least the job itself.
  if (tree_.signal(SIGKILL) == 0 && !end_) (void)::kill(job_, SIGKILL);
  look_at_children();
}

}  // namespace os
