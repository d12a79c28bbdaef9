#include "os/guardian_process.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "os/kill_rounds.hpp"
#include "os/poll.hpp"
#include "os/process_name.hpp"
#include "os/process_tree.hpp"
#include "os/signals.hpp"

namespace os {
namespace {

// stderr can be a file on a silent server, where a write blocks for ever. So report a kill only
// once nothing is left to kill, or after this time.
constexpr base::Millis silent_kill{1'000};
// The pause before another try at a full line.
constexpr base::Millis tell_again{50};
// How many children to reap before the next look at the clock, if they end faster than that.
constexpr int most_reaped = 256;

constexpr std::string_view guardian_name = "guardian";

/// Makes this process look unlike rlock to users and programs that target rlock.
void stand_aside() {
  block_all_signals();
  ::setsid();
  ::prctl(PR_SET_NAME, guardian_name.data());  // so that killall misses us
}

/// A stopped guardian cannot see that rlock is gone, so the kernel continues it then. This is bound
/// to the thread that forks us: rlock's main one.
void be_continued_when_orphaned() {
  (void)::prctl(PR_SET_PDEATHSIG, SIGCONT);
}

/// Becomes the heir (see Guardian), in a process of its own, with one thread. Returns in another
/// process below it, which is to become the guardian.
void bequeath(GuardianLine& line) {
  be_continued_when_orphaned();
  const ProcessTree tree;
  const pid_t guardian = ::fork();
  if (guardian == 0) return;
  if (guardian < 0) {
    line.send(Report{Report::Kind::not_forked, 0, errno});
    ::_exit(0);
  }
  line.close();  // rlock must see the guardian's end
  stand_aside();
  change_command_line(guardian_name);
  std::optional<Urgency> urgency;  // once the guardian was killed
  const auto look_at = [&](const Change& change) {
    if (change.pid != guardian) return;
    if (change.kind == Change::Kind::stopped) {
      (void)::kill(guardian, SIGCONT);
    } else if (change.status == 0) {
      ::_exit(0);  // the guardian left in order
    } else {
      urgency.emplace(Urgency::Session::own);
    }
  };
  for (siginfo_t next{}; ::waitid(P_ALL, 0, &next, WEXITED | WSTOPPED | WNOWAIT) == 0;) {
    while (const auto change = reap()) look_at(*change);
    for (bool storm = urgency.has_value(); storm;) storm = !ProcessTree::kill_children(look_at);
    if (urgency) tree.signal(SIGKILL);
  }
  ::_exit(0);
}

/// The guardian's work, in a process of its own (see Guardian).
class GuardianProcess {
 public:
  /// Construct in a fresh fork, with one thread. `until`: as in Guardian.
  GuardianProcess(GuardianLine line, Signals& signals, pid_t rlock, base::Deadline until,
                  bool has_heir)
      : line_{std::move(line)},
        signals_{signals},
        rlock_{rlock},
        until_{until},
        has_heir_{has_heir} {}

  /// Runs to the end of the process.
  [[noreturn]] void run(const Program& program);

 private:
  void start_job(const Program& program);
  void watch();
  void take_orders();
  void send_to_job(const Order& order);
  void look_at_children();
  void look_at(const Change& change);
  void tell_end();
  [[noreturn]] void leave(Report last);
  void say_why();
  [[nodiscard]] bool must_kill() const { return alone_ || ordered_ || until_.passed(base::now()); }
  [[nodiscard]] base::Deadline due() const;
  void kill_tree();
  void be_urgent() {
    if (!urgency_) urgency_.emplace(Urgency::Session::own);
  }

  GuardianLine line_;
  Signals& signals_;
  ProcessTree tree_;
  pid_t rlock_;
  base::Deadline until_;
  bool has_heir_;
  pid_t job_ = 0;
  std::optional<Report> end_{};  // of the job's process
  bool end_untold_ = false;      // the line had no room for it
  bool alone_ = false;           // rlock is gone
  bool unreaped_ = false;        // more children may have ended
  bool storm_ = false;           // new children appear as soon as we have killed the old ones
  bool ordered_ = false;         // rlock ordered a kill
  KillRounds rounds_{};
  std::optional<Urgency> urgency_{};  // set during a storm
  bool told_ = false;                 // or nothing to report
  std::string why_{};                 // why we kill, not reported yet
  base::Deadline say_at_ = base::Deadline::never();
};

void GuardianProcess::run(const Program& program) {
  be_continued_when_orphaned();
  try {
    start_job(program);
    stand_aside();  // not earlier: the job belongs to rlock's session and process group
    watch();
  } catch (const std::exception& error) {
    if (job_ != 0 && !end_) (void)::kill(job_, SIGKILL);  // it would live while we write
    base::log::error("the guardian of the job: {}", error.what());
  }
  ::_exit(1);  // rlock adopts the rest of the job
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
    // Orders before the clock: one may extend the lease.
    take_orders();
    if (must_kill()) kill_tree();
  }
}

base::Deadline GuardianProcess::due() const {
  const auto now = base::now();
  if (storm_ || unreaped_) return base::Deadline::at(now);
  const auto next = must_kill() ? rounds_.due() : until_;
  return end_untold_ ? std::min(next, base::Deadline::after(now, tell_again)) : next;
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
  // Dead processes that pile up delay every process that scans /proc.
  if (unreaped_) be_urgent();
  tell_end();
  if (!unreaped_ && end_ && !end_untold_ && tree_.empty()) {
    say_why();
    ::_exit(0);
  }
}

/// The line is full of other reports while rlock is not scheduled. Without this one rlock would not
/// learn how the job ended.
void GuardianProcess::tell_end() {
  if (end_untold_) end_untold_ = !alone_ && !line_.send(*end_) && errno == EAGAIN;
}

void GuardianProcess::look_at(const Change& change) {
  if (change.pid != job_) return;
  const bool ended = change.kind == Change::Kind::ended;
  if (ended && tree_.empty()) leave({Report::Kind::all_ended, job_, change.status});
  const Report report{ended ? Report::Kind::ended : Report::Kind::stopped, job_, change.status};
  if (!ended) {
    line_.send(report);
    return;
  }
  end_ = report;
  end_untold_ = true;
  tell_end();
}

/// When rlock reads the last report, the guardian has dropped all that is rlock's and only exits,
/// so rlock need not wait. If close_range(2) is refused, or there is an heir, which also has all of
/// rlock's descriptors, rlock waits.
void GuardianProcess::leave(Report last) {
  say_why();
  report_signals(line_, signals_);
  const auto line = static_cast<unsigned>(line_.descriptor());
  const bool closed = !has_heir_ && (line <= 3 || ::close_range(3, line - 1, 0) == 0) &&
                      ::close_range(line + 1, ~0U, 0) == 0;
  if (!closed) last.kind = Report::Kind::ended;
  while (!line_.send(last) && errno == EAGAIN) {
    (void)wait_for(line_.descriptor(), Want::write, {base::Deadline::never()});
  }
  // Our end would delay rlock's release by a tenth of a millisecond, if the two share a processor.
  ::sched_yield();
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
    // If /proc is gone, kill at least the job itself.
    if (reached.processes == 0 && !end_) (void)::kill(job_, SIGKILL);
  }
  look_at_children();
  if (storm_) return;
  if (say_at_.passed(base::now())) say_why();
  // If rlock gave the order, it reports this itself.
  if (ordered_) return;
  if (const auto line = rounds_.complaint(tree_, base::now())) base::log::error("{}", *line);
}

void GuardianProcess::say_why() {
  if (why_.empty()) return;
  base::log::error("process {} {}; killing its job", rlock_, std::exchange(why_, {}));
}

}  // namespace

void run_guardian(GuardianLine line, Signals& signals, pid_t rlock, base::Deadline until,
                  bool has_heir, const Program& program) {
  if (has_heir) bequeath(line);
  GuardianProcess{std::move(line), signals, rlock, until, has_heir}.run(program);
}

}  // namespace os
