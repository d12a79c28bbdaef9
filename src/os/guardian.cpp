#include "os/guardian.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/log.hpp"
#include "os/error.hpp"
#include "os/kill_rounds.hpp"
#include "os/poll.hpp"
#include "os/process_name.hpp"
#include "os/process_tree.hpp"
#include "os/signals.hpp"

namespace os {

// ---- the line -----------------------------------------------------------------------------

static_assert(std::is_trivially_copyable_v<Report> && std::is_trivially_copyable_v<Order>);

void GuardianLine::connect(GuardianLine& one, GuardianLine& other) {
  int ends[2];
  check(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
        "creating a pair of sockets");
  one = GuardianLine{Fd{ends[0]}};
  other = GuardianLine{Fd{ends[1]}};
}

bool GuardianLine::send_bytes(const void* bytes, std::size_t size) {
  return ::send(fd_.number(), bytes, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

GuardianLine::Taken GuardianLine::take_bytes(void* bytes, std::size_t size) {
  for (;;) {
    const ssize_t got = ::recv(fd_.number(), bytes, size, 0);
    if (got == static_cast<ssize_t>(size)) return Taken::message;
    if (got == 0) return Taken::hung_up;
    if (got < 0 && errno == EAGAIN) return Taken::nothing;
    // The other end left without having read all of ours: said once, before what it wrote to us.
    if (got < 0 && errno != EINTR && errno != ECONNRESET) fail("reading from the guardian");
  }
}

namespace {

/// The signal of `order`, with its value. Whoever calls this knows that the number means the job.
void pass_on(pid_t job, const Order& order) {
  sigval value{};
  // The wider member of the two.
  // NOLINTNEXTLINE(performance-no-int-to-ptr,cppcoreguidelines-pro-type-union-access)
  value.sival_ptr = reinterpret_cast<void*>(order.value.value_or(0));
  const int sent = order.value ? ::sigqueue(job, order.signal, value) : ::kill(job, order.signal);
  if (sent != 0) base::log::error("{}", Reached::Refused{job, errno}.text(order.signal));
}

}  // namespace

// ---- the guardian's end -------------------------------------------------------------------

void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
}

void report_signals(GuardianLine& line, Signals& signals) {
  while (const auto signal = signals.take()) {
    // SIGCHLD only wakes us.
    if (signal->sender != Sender::process || signal->number == SIGCHLD) continue;
    line.send(Report{Report::Kind::signalled, signal->pid, signal->number});
  }
}

namespace {

// stderr can be a file on a server that is silent, and a write to it takes for ever: whoever kills
// speaks when nothing is left to kill, or after this time.
constexpr base::Millis silent_kill{1'000};
// Of children that end faster than they can be reaped, so many at a time: the clock is looked at in
// between.
constexpr int most_reaped = 256;

constexpr std::string_view guardian_name = "guardian";

/// As a process that is not rlock to people and programs who mean rlock.
void stand_aside() {
  block_all_signals();
  ::setsid();
  ::prctl(PR_SET_NAME, guardian_name.data());  // killall is not for us
}

/// A stopped guardian cannot see that rlock is gone, so the kernel continues it then. Of the
/// thread that forks us: rlock's main one.
void be_continued_when_orphaned() {
  (void)::prctl(PR_SET_PDEATHSIG, SIGCONT);
}

/// The heir (see Guardian), in a process of its own, with one thread. Returns in another one, below
/// it, which is to be the guardian.
void bequeath(GuardianLine& line) {
  be_continued_when_orphaned();
  const ProcessTree tree;
  const pid_t guardian = ::fork();
  if (guardian == 0) return;
  if (guardian < 0) {
    line.send(Report{Report::Kind::not_forked, 0, errno});
    ::_exit(0);
  }
  line.close();  // rlock is to hear the guardian's end
  stand_aside();
  change_command_line(guardian_name);
  std::optional<Urgency> urgency;  // once the guardian was killed
  const auto look_at = [&](const Change& change) {
    if (change.pid != guardian) return;
    if (change.kind == Change::Kind::stopped) {
      (void)::kill(guardian, SIGCONT);
    } else if (change.status == 0) {
      ::_exit(0);  // it has left in order
    } else {
      urgency.emplace();
    }
  };
  for (siginfo_t next{}; ::waitid(P_ALL, 0, &next, WEXITED | WSTOPPED | WNOWAIT) == 0;) {
    while (const auto change = reap()) look_at(*change);
    for (bool storm = urgency.has_value(); storm;) storm = !ProcessTree::kill_children(look_at);
    if (urgency) tree.signal(SIGKILL);
  }
  ::_exit(0);
}

/// What the guardian does, in a process of its own (see Guardian).
class GuardianProcess {
 public:
  /// In a fresh fork, with one thread. `until`: as Guardian's.
  GuardianProcess(GuardianLine line, Signals& signals, pid_t rlock, base::Deadline until,
                  bool has_heir)
      : line_{std::move(line)},
        signals_{signals},
        rlock_{rlock},
        until_{until},
        has_heir_{has_heir} {}

  /// To the end of the process.
  [[noreturn]] void run(const Program& program);

 private:
  void start_job(const Program& program);
  void watch();
  void take_orders();
  void send_to_job(const Order& order);
  void look_at_children();
  void look_at(const Change& change);
  [[noreturn]] void leave(Report last);
  void say_why();
  [[nodiscard]] bool must_kill() const { return alone_ || ordered_ || until_.passed(base::now()); }
  [[nodiscard]] base::Deadline due() const;
  void kill_tree();
  void be_urgent() {
    if (!urgency_) urgency_.emplace();
  }

  GuardianLine line_;
  Signals& signals_;
  ProcessTree tree_;
  pid_t rlock_;
  base::Deadline until_;
  bool has_heir_;
  pid_t job_ = 0;
  std::optional<Report> end_{};  // of the job's process
  bool alone_ = false;           // rlock is gone
  bool unreaped_ = false;        // there may be more children that ended
  bool storm_ = false;           // there are new children as soon as we have killed the old ones
  bool ordered_ = false;         // by rlock, to kill
  KillRounds rounds_{};
  std::optional<Urgency> urgency_{};  // once there is a storm
  bool told_ = false;                 // or there is nothing to tell
  std::string why_{};                 // we kill, unsaid yet
  base::Deadline say_at_ = base::Deadline::never();
};

void GuardianProcess::run(const Program& program) {
  be_continued_when_orphaned();
  try {
    start_job(program);
    stand_aside();  // not before: the job belongs to rlock's session and process group
    watch();
  } catch (const std::exception& error) {
    if (job_ != 0 && !end_) (void)::kill(job_, SIGKILL);  // it would live while we write
    base::log::error("the guardian of the job: {}", error.what());
  }
  ::_exit(1);  // rlock inherits what is left of the job
}

Report::Kind kind_of(NotStarted::Stage stage) {
  switch (stage) {
    case NotStarted::Stage::fork: return Report::Kind::not_forked;
    case NotStarted::Stage::late: return Report::Kind::late;
    default: return Report::Kind::not_executed;
  }
}

void GuardianProcess::start_job(const Program& program) {
  const auto spawned = Child::spawn(program, signals_, {line_.descriptor(), until_});
  if (!spawned) {
    line_.send(Report{kind_of(spawned.error().stage), 0, spawned.error().number});
    ::_exit(0);
  }
  job_ = spawned->pid();
  line_.send(Report{Report::Kind::started, job_, ::getpid()});
}

void GuardianProcess::watch() {
  base::Deadline settled = base::Deadline::after(base::now(), short_job);
  for (;;) {
    const int line = alone_ ? -1 : line_.descriptor();
    (void)wait_for(line, Want::read, {std::min(due(), settled), signals_.descriptor()});
    if (settled.passed(base::now())) {
      change_command_line(guardian_name);
      settled = base::Deadline::never();
    }
    report_signals(line_, signals_);
    look_at_children();
    // The orders before the clock: one may say that the lease was extended.
    take_orders();
    if (must_kill()) kill_tree();
  }
}

base::Deadline GuardianProcess::due() const {
  const auto now = base::now();
  if (storm_ || unreaped_) return base::Deadline::at(now);
  return must_kill() ? rounds_.due() : until_;
}

void GuardianProcess::take_orders() {
  for (bool more = !alone_; more;) {
    base::match(
        line_.take<Order>(), [&](std::monostate) { more = false; },
        [&](const Order& order) {
          switch (order.kind) {
            case Order::Kind::keep_until: until_ = base::Deadline::at(order.until); break;
            case Order::Kind::kill_tree: ordered_ = told_ = true; break;
            case Order::Kind::report_signals:
              report_signals(line_, signals_);
              line_.send(Report{Report::Kind::answer, 0, order.signal});
              break;
            case Order::Kind::signal: send_to_job(order); break;
            case Order::Kind::signal_tree:
              if (tree_.signal(order.signal).processes == 0) send_to_job(order);
              break;
          }
        },
        [&](HungUp) { alone_ = true, more = false; });
  }
}

void GuardianProcess::send_to_job(const Order& order) {
  if (!end_) pass_on(job_, order);
}

void GuardianProcess::look_at_children() {
  unreaped_ = true;
  for (int reaped = 0; reaped < most_reaped; ++reaped) {
    const auto change = reap();
    if (!change) {
      unreaped_ = false;
      break;
    }
    look_at(*change);
  }
  // The dead that pile up hold up whoever looks through all processes.
  if (unreaped_) be_urgent();
  if (!unreaped_ && end_ && tree_.empty()) {
    say_why();
    ::_exit(0);
  }
}

void GuardianProcess::look_at(const Change& change) {
  if (change.pid != job_) return;
  const bool ended = change.kind == Change::Kind::ended;
  if (ended && tree_.empty()) leave({Report::Kind::all_ended, job_, change.status});
  const Report report{ended ? Report::Kind::ended : Report::Kind::stopped, job_, change.status};
  if (ended) end_ = report;
  line_.send(report);
}

/// When rlock hears the last report, the guardian has nothing of rlock's any more and only exits,
/// for which rlock need not wait. Where close_range(2) is refused, rlock waits; so it does for an
/// heir, which has all of rlock's, too.
void GuardianProcess::leave(Report last) {
  say_why();
  report_signals(line_, signals_);
  const auto line = static_cast<unsigned>(line_.descriptor());
  const bool closed = !has_heir_ && (line <= 3 || ::close_range(3, line - 1, 0) == 0) &&
                      ::close_range(line + 1, ~0U, 0) == 0;
  if (!closed) last.kind = Report::Kind::ended;
  line_.send(last);
  ::_exit(0);
}

void GuardianProcess::kill_tree() {
  if (!std::exchange(told_, true) && !end_) {
    why_ = alone_ ? "was killed" : "is stopped, and its lease is about to end";
    say_at_ = base::Deadline::after(base::now(), silent_kill);
  }
  be_urgent();
  storm_ = !tree_.kill_children([&](const Change& change) { look_at(change); });
  if (!storm_) {
    const auto reached = tree_.signal(SIGKILL);
    rounds_.met(reached, base::now());
    if (rounds_.is_stuck()) urgency_.reset();
    // Should /proc be gone, at least the job itself.
    if (reached.processes == 0 && !end_) (void)::kill(job_, SIGKILL);
  }
  look_at_children();
  if (storm_) return;
  if (say_at_.passed(base::now())) say_why();
  // An rlock that gave the order says this itself.
  if (ordered_) return;
  if (const auto line = rounds_.complaint(tree_, base::now())) base::log::error("{}", *line);
}

void GuardianProcess::say_why() {
  if (why_.empty()) return;
  base::log::error("process {} {}; killing its job", rlock_, std::exchange(why_, {}));
}

}  // namespace

// ---- rlock's end --------------------------------------------------------------------------

namespace {

// To load a command. A load that takes longer hangs; from then on we listen for a signal that wants
// us to stop.
constexpr base::Millis usual_start{1'000};

// Between two looks whether the guardian was stopped. Signals are not read that early: they are for
// the job.
constexpr base::Millis look_rounds{50};

// For the guardian to read an order: many real-time signals can come at once.
constexpr base::Millis longest_send{100};

/// Then its number is its own until we reap it.
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
  // Nobody starts a job only to end it.
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
  // A true fork: processes that share their memory are killed together when it runs out.
  const pid_t pid = ::fork();
  if (pid < 0) return NotStarted{NotStarted::Stage::fork, errno};
  if (pid > 0) {
    its.close();
    Guardian guardian{std::move(ours), pid, tree, until};
    if (auto failure = guardian.await_start(signals)) return *failure;
    return guardian;
  }
  ours.close();
  if (has_heir) bequeath(its);
  GuardianProcess{std::move(its), signals, self, until, has_heir}.run(program);
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
  // The heir first, which would kill what a killed guardian leaves.
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
    // The heir was killed alone: the guardian is our own child now, and has lost nothing.
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

/// We have given the start up, but the job may have begun. It is gone when this returns.
void Guardian::undo_start() {
  // It kills what is below it, and the command that it still loads dies of the order itself.
  kill_tree();
  const auto patience = base::Deadline::after(base::now(), usual_start);
  for (KillRounds rounds; !tree_.empty();) {
    // Below a debugger it cannot do so. What it leaves comes to us.
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
      // ^Z has stopped the loading command as well. A shell waits until we are stopped, too.
      Signals::suspend(signal->number);
      (void)tree_.resume();
    }
  }
  const auto first = line_.take<Report>();
  const auto* report = std::get_if<Report>(&first);
  if (report == nullptr) {
    hang_up();  // whether there is a job will be seen when its tree is killed
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
  // It may have ended this moment, of that very signal.
  const pid_t group = ::getpgid(job_);
  return group == -1 || group == ::getpgrp();
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
  // The line is full while the guardian has no turn.
  const auto until = base::Deadline::after(base::now(), longest_send);
  while (!hung_up_) {
    if (line_.send(order)) return;
    if (errno != EAGAIN || wait_for(line_.descriptor(), Want::write, {until}) != Ready::yes) break;
  }
  // Only its parent knows for certain that the number still means the job: its guardian, or we once
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
      // It is our child now, so its guardian is gone; of several threads, which a sanitizer starts,
      // the last may not have closed the line yet.
      (void)hear();
      hang_up();
      return over(*change);
    }
  }
  // Killed together with its guardian, which took its status along. Orphans come to us before the
  // parent they had can be reaped.
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
