#include "os/guardian.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "os/guard.hpp"
#include "os/poll.hpp"

namespace os {
namespace {

// To load a command. What takes longer hangs, and then we listen to who wants us to stop; other
// signals have nobody to go to yet.
constexpr base::Millis usual_start{1'000};

bool ends_us(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace

std::variant<Guardian, NotStarted> Guardian::start_job(const Program& program, Signals& signals,
                                                       base::Deadline until) {
  GuardLine ours;
  GuardLine its;
  GuardLine::connect(ours, its);
  const pid_t self = ::getpid();
  // A true fork: processes that share their memory are killed together when it runs out.
  const pid_t pid = ::fork();
  if (pid < 0) return NotStarted{NotStarted::Stage::fork, errno};
  if (pid > 0) {
    its.close();
    Guardian guardian{std::move(ours), pid, until};
    if (auto failure = guardian.await_start(signals)) return *failure;
    return guardian;
  }
  ours.close();
  Guard{std::move(its), signals, self, until}.stand(program);
}

Guardian::Guardian(Guardian&& other) noexcept
    : line_{std::move(other.line_)},
      guardian_{std::exchange(other.guardian_, 0)},
      job_{other.job_},
      hung_up_{other.hung_up_},
      killed_{other.killed_},
      ended_{other.ended_},
      left_{other.left_},
      until_{other.until_} {}

Guardian::~Guardian() {
  left_ = false;
  dismiss();
}

void Guardian::dismiss() {
  if (left_ || guardian_ == 0) return;
  (void)::kill(guardian_, SIGKILL);
  while (::waitpid(guardian_, nullptr, 0) < 0 && errno == EINTR) {
  }
  guardian_ = 0;
}

std::optional<NotStarted> Guardian::await_start(Signals& signals) {
  const auto usual = base::Deadline::after(base::now(), usual_start);
  if (wait_for(line_.descriptor(), Want::read, {std::min(usual, until_)}) != Ready::yes) {
    for (;;) {
      const auto ready = wait_for(line_.descriptor(), Want::read, {until_, signals.descriptor()});
      if (ready == Ready::yes) break;
      if (ready == Ready::timed_out) return NotStarted{NotStarted::Stage::late, ETIMEDOUT};
      if (const auto signal = signals.take(); signal && ends_us(signal->number)) {
        return NotStarted{NotStarted::Stage::interrupted, signal->number};
      }
    }
  }
  const auto first = line_.take<Report>();
  const auto* report = std::get_if<Report>(&first);
  if (report == nullptr) {
    hung_up_ = killed_ = true;  // whether there is a job will be seen when its tree is killed
    return std::nullopt;
  }
  job_ = report->job;
  switch (report->kind) {
    case Report::Kind::not_forked: return NotStarted{NotStarted::Stage::fork, report->value};
    case Report::Kind::not_executed: return NotStarted{NotStarted::Stage::exec, report->value};
    default: return std::nullopt;
  }
}

void Guardian::signal_job(int number) {
  if (ended_ || job_ == 0) return;
  // Only its parent knows for certain that the number still means the job.
  if (hung_up_) {
    (void)::kill(job_, number);
  } else {
    (void)line_.send(Order{Order::Kind::signal, number, {}});
  }
}

void Guardian::keep_until(base::Deadline until) {
  if (hung_up_ || until_ == until) return;
  if (line_.send(Order{Order::Kind::keep_until, 0, until.moment()})) until_ = until;
}

std::optional<Change> Guardian::take() {
  for (;;) {
    if (auto report = hear()) return report;
    const auto change = reap();
    if (!change) break;
    if (change->pid == guardian_ && change->kind == Change::Kind::stopped) {
      (void)::kill(guardian_, SIGCONT);
    } else if (change->pid == guardian_) {
      guardian_ = 0;
    } else if (change->pid == job_) {
      (void)hear();  // it is our child now, so its guardian has hung up
      return over(*change);
    }
  }
  // Killed together with its guardian, which took its status along. Orphans come to us before the
  // parent they had can be reaped.
  siginfo_t info{};
  if (killed_ && !ended_ && guardian_ == 0 &&
      ::waitid(P_PID, static_cast<id_t>(job_), &info, WEXITED | WNOHANG | WNOWAIT) < 0) {
    return over({Change::Kind::ended, job_, SIGKILL});
  }
  return std::nullopt;
}

std::optional<Change> Guardian::hear() {
  while (!hung_up_) {
    const auto message = line_.take<Report>();
    if (std::holds_alternative<std::monostate>(message)) return std::nullopt;
    if (const auto* report = std::get_if<Report>(&message)) {
      left_ = report->kind == Report::Kind::all_ended;
      const bool stopped = report->kind == Report::Kind::stopped;
      return over({stopped ? Change::Kind::stopped : Change::Kind::ended, job_, report->value});
    }
    hung_up_ = true;
    killed_ = !ended_;
  }
  return std::nullopt;
}

Change Guardian::over(Change change) {
  ended_ = ended_ || change.kind == Change::Kind::ended;
  return change;
}

}  // namespace os
