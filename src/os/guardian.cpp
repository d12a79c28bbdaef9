#include "os/guardian.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/log.hpp"
#include "os/guardian_process.hpp"
#include "os/kill_rounds.hpp"
#include "os/poll.hpp"
#include "os/process_tree.hpp"
#include "os/signals.hpp"

namespace os {
namespace {

// The usual time to load a command. After it, the load hangs, and we start to read signals that
// tell us to stop.
constexpr base::Millis usual_start{1'000};

// The pause between two checks whether the guardian was stopped. Signals are not read that early:
// they are for the job.
constexpr base::Millis look_rounds{50};

// The time that the guardian has to read an order: many real-time signals can arrive at once.
constexpr base::Millis longest_send{100};

/// True means that the number stays its own until we reap it.
bool is_our_child(pid_t pid) {
  siginfo_t info{};
  return pid > 0 &&
         ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool is_of_signals(const Report& report) {
  return report.kind == Report::Kind::signalled || report.kind == Report::Kind::answer;
}

}  // namespace

base::Result<Guardian, NotStarted> Guardian::start_job(const Program& program, Signals& signals,
                                                       ProcessTree& tree, base::Deadline until) {
  // Do not start a job only to end it.
  while (const auto signal = signals.take()) {
    if (ends_a_process(signal->number)) {
      return NotStarted{NotStarted::Stage::interrupted, signal->number};
    }
    if (stops_a_process(signal->number)) Signals::suspend(signal->number);
  }
  GuardianLine ours;
  GuardianLine its;
  GuardianLine::connect(ours, its);
  const pid_t self = ::getpid();
  const bool has_heir = tree.may_get_strangers();
  // fork(), not vfork(): processes that share memory are killed together when memory runs out.
  const pid_t pid = ::fork();
  if (pid < 0) return NotStarted{NotStarted::Stage::fork, errno};
  if (pid > 0) {
    its.close();
    Guardian guardian{std::move(ours), pid, tree, until};
    if (auto failure = guardian.await_start(signals)) return *failure;
    return guardian;
  }
  ours.close();
  run_guardian(std::move(its), signals, self, until, has_heir, program);
}

Guardian::Guardian(GuardianLine line, pid_t pid, ProcessTree& tree, base::Deadline until)
    : line_{std::move(line)}, tree_{tree}, guardian_{pid}, inner_{pid}, until_{until} {
  tree_.be_below(pid);
}

Guardian::Guardian(Guardian&& other) noexcept
    : line_{std::move(other.line_)},
      tree_{other.tree_},
      guardian_{std::exchange(other.guardian_, 0)},
      inner_{other.inner_},
      job_{other.job_},
      hung_up_{other.hung_up_},
      killed_{other.killed_},
      ended_{other.ended_},
      left_{other.left_},
      of_signals_{std::move(other.of_signals_)},
      until_{other.until_} {}

Guardian::~Guardian() {
  left_ = false;
  dismiss();
}

void Guardian::dismiss() {
  if (left_ || guardian_ == 0) return;
  // The heir first: it would kill the leftovers of a killed guardian.
  for (const pid_t each : {guardian_, inner_}) {
    if (!is_our_child(each)) continue;
    (void)::kill(each, SIGKILL);
    while (::waitpid(each, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  guardian_ = 0;
  tree_.disband();
}

void Guardian::hang_up() {
  if (std::exchange(hung_up_, true)) return;
  killed_ = !ended_;
  if (has_heir()) tree_.be_below(guardian_);
}

void Guardian::forget_guardian(const Change& end) {
  const bool was_heir = has_heir();
  guardian_ = 0;
  if (was_heir && is_our_child(inner_)) {
    // Only the heir was killed: the guardian is now our own child and has lost nothing.
    guardian_ = inner_;
    tree_.be_below(guardian_);
  } else if (end.status == 0) {
    tree_.disband();
  } else {
    tree_.inherit();
  }
}

void Guardian::continue_guardian() const {
  siginfo_t info{};
  const bool known = ::waitid(P_PID, static_cast<id_t>(guardian_), &info, WSTOPPED | WNOHANG) == 0;
  if (known && info.si_pid == guardian_) (void)::kill(guardian_, SIGCONT);
}

/// We have given up on the start, but the job may have begun. It is gone when this returns.
void Guardian::undo_start() {
  // The guardian kills the tree below it; a command that is still loading dies of the order itself.
  kill_tree();
  const auto patience = base::Deadline::after(base::now(), usual_start);
  for (KillRounds rounds; !tree_.empty();) {
    // Under a debugger the guardian cannot do so. We adopt what it leaves.
    if (patience.passed(base::now()) && is_our_child(guardian_)) (void)::kill(guardian_, SIGKILL);
    continue_guardian();
    rounds.met(tree_.signal(SIGKILL), base::now());
    if (const auto line = rounds.complaint(tree_, base::now())) base::log::error("{}", *line);
    wait_any({descriptor()}, rounds.due());
    while (take()) {
    }
  }
}

std::optional<NotStarted> Guardian::await_start(Signals& signals) {
  const auto usual = base::Deadline::after(base::now(), usual_start);
  for (;;) {
    const auto now = base::now();
    const bool is_usual = !usual.passed(now);
    const auto look = is_usual ? base::Deadline::after(now, look_rounds) : until_;
    const auto ready = wait_for(line_.descriptor(), Want::read,
                                {std::min(look, until_), is_usual ? -1 : signals.descriptor()});
    if (ready == Ready::yes) break;
    continue_guardian();
    if (until_.passed(base::now())) {
      undo_start();
      return NotStarted{NotStarted::Stage::late, ETIMEDOUT};
    }
    if (is_usual) continue;
    const auto signal = signals.take();
    if (signal && ends_a_process(signal->number)) {
      undo_start();
      return NotStarted{NotStarted::Stage::interrupted, signal->number};
    }
    if (signal && stops_a_process(signal->number)) {
      // ^Z has stopped the loading command as well. A shell waits until we are also stopped.
      Signals::suspend(signal->number);
      (void)tree_.resume();
    }
  }
  const auto first = line_.take<Report>();
  const auto* report = std::get_if<Report>(&first);
  if (report == nullptr) {
    hang_up();  // killing its tree will show whether there is a job
    return std::nullopt;
  }
  job_ = report->job;
  if (report->kind == Report::Kind::started) {
    inner_ = report->value;
    tree_.be_below(inner_);
  }
  switch (report->kind) {
    case Report::Kind::not_forked: return NotStarted{NotStarted::Stage::fork, report->value};
    case Report::Kind::not_executed: return NotStarted{NotStarted::Stage::exec, report->value};
    case Report::Kind::late: return NotStarted{NotStarted::Stage::late, report->value};
    default: return std::nullopt;
  }
}

bool Guardian::job_is_in_our_group() const {
  if (ended_ || job_ == 0) return false;
  // The job may have died of that signal just now.
  const pid_t group = ::getpgid(job_);
  return group == -1 || group == ::getpgrp();
}

bool Guardian::job_is_stopped() const {
  const auto job = Look{}.at(job_);
  if (job) return job->state == 'T' || job->state == 't';
  return ::kill(job_, 0) == 0 || errno == EPERM;  // hidden by /proc: we have only the report
}

bool Guardian::job_has_terminal() const {
  if (ended_ || job_ == 0) return false;
  const pid_t parent = ::getppid();
  const bool seen = ::getsid(parent) == ::getsid(0) && ::getpgid(parent) != ::getpgrp();
  if (!seen) return false;
  const Fd terminal{::open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)};
  return terminal && ::tcgetpgrp(terminal.number()) == ::getpgid(job_);
}

void Guardian::signal_job(int number, std::optional<std::uint64_t> value) {
  if (ended_ || job_ == 0) return;
  const Order order{Order::Kind::signal, number, {}, value};
  // The line is full while the guardian is not scheduled.
  const auto until = base::Deadline::after(base::now(), longest_send);
  while (!hung_up_) {
    if (line_.send(order)) return;
    if (errno != EAGAIN || wait_for(line_.descriptor(), Want::write, {until}) != Ready::yes) break;
  }
  // Only its parent knows for certain that the number still means the job: the guardian, or we once
  // that is gone. A guardian that does not read has not reaped it either.
  if (!hung_up_ || is_our_child(job_)) pass_on(job_, order);
}

void Guardian::signal_tree(int number) {
  const bool ordered = !hung_up_ && line_.send(Order{Order::Kind::signal_tree, number, {}});
  if (!ordered) signal_job(number);
}

void Guardian::keep_until(base::Deadline until) {
  if (hung_up_ || until_ == until) return;
  if (line_.send(Order{Order::Kind::keep_until, 0, until.moment()})) until_ = until;
}

void Guardian::kill_tree() {
  if (!hung_up_) (void)line_.send(Order{Order::Kind::kill_tree, 0, {}});
}

std::optional<Change> Guardian::take() {
  for (;;) {
    if (auto report = hear()) return report;
    const auto change = reap();
    if (!change) break;
    if (change->pid == guardian_ && change->kind == Change::Kind::stopped) {
      (void)::kill(guardian_, SIGCONT);
    } else if (change->pid == guardian_) {
      forget_guardian(*change);
    } else if (change->pid == job_) {
      // The job is our child now, so its guardian is gone. A sanitizer starts several threads, and
      // the last may not have closed the line yet.
      (void)hear();
      hang_up();
      return over(*change);
    }
  }
  // Job and guardian were killed together, and the status is lost. Orphans reach us before their
  // former parent can be reaped.
  if (killed_ && !ended_ && guardian_ == 0 && !is_our_child(job_)) {
    return over({Change::Kind::ended, job_, SIGKILL});
  }
  return std::nullopt;
}

std::optional<Change> Guardian::hear() {
  while (!hung_up_) {
    const auto message = line_.take<Report>();
    if (std::holds_alternative<std::monostate>(message)) return std::nullopt;
    const auto* report = std::get_if<Report>(&message);
    if (report != nullptr && is_of_signals(*report)) {
      of_signals_.push_back(*report);
    } else if (report != nullptr) {
      left_ = report->kind == Report::Kind::all_ended;
      const bool stopped = report->kind == Report::Kind::stopped;
      return over({stopped ? Change::Kind::stopped : Change::Kind::ended, job_, report->value});
    } else {
      hang_up();
    }
  }
  return std::nullopt;
}

std::optional<Report> Guardian::take_of_signals() {
  if (of_signals_.empty()) return std::nullopt;
  const Report first = of_signals_.front();
  of_signals_.pop_front();
  return first;
}

void Guardian::ask(int question) {
  if (!hung_up_) (void)line_.send(Order{Order::Kind::report_signals, question, {}});
}

Change Guardian::over(Change change) {
  ended_ = ended_ || change.kind == Change::Kind::ended;
  return change;
}

}  // namespace os
