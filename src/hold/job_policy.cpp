#include "hold/job_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/result.hpp"
#include "base/text.hpp"

namespace hold {
namespace {

// To find and reach every process of a tree takes time, which must not be the next holder's.
constexpr base::Millis kill_lead{20};
// The guardian's blow comes after ours, and still in time.
constexpr base::Millis guardian_lead = kill_lead / 2;
// Between two rounds of KILL, for what forked while we were looking.
constexpr base::Millis kill_rounds{10};
// stderr can be a file on a server that is silent, and a write to it takes for ever. Nothing is
// said while we kill: when the tree is gone, or after this time.
constexpr base::Millis silent_kill{1'000};

// timeout(1) sends its signal to its child and then to the group that the child is in, and a
// shell's kill %1 reaches both rlock and a run below it: twice the same within this time is one.
constexpr base::Millis doubled_within{1'000};

std::string_view event_of(StoppedFor::Reason reason) {
  switch (reason) {
    case StoppedFor::Reason::loss: return "lost";
    case StoppedFor::Reason::time: return "overran";
    case StoppedFor::Reason::request: break;
  }
  return "asked-to-stop";
}

bool is_stop(int signal) {
  return signal == SIGTERM || signal == SIGINT;
}

bool is_deadly(int signal) {
  return is_stop(signal) || signal == SIGHUP || signal == SIGQUIT;
}

std::string quoted(const store::LockName& name) {
  return '\'' + base::printable(name.text()) + '\'';
}

}  // namespace

void JobPolicy::on_arrival(const os::Signal& signal) {
  if (signal.sender != os::Sender::job && is_deadly(signal.number)) heard_.push_back(signal.number);
}

Actions JobPolicy::on_signal(const os::Signal& signal, JobHeard heard, base::Moment now) {
  on_arrival(signal);
  const bool after_stop = signal.number == SIGCONT && std::exchange(followed_, false);
  // A job that signals its group means itself. To us that is no order.
  if (signal.sender == os::Sender::job) return {};
  // A shell's fg continues the whole group, so after ^Z the job has it already.
  if (after_stop) return {ResumeTree{}};
  if (heard == JobHeard::yes) {
    const bool to_group = signal.sender == os::Sender::process;
    return to_group && is_stop(signal.number) ? complete_stop(signal.number, now) : Actions{};
  }
  if (signal.number == SIGCONT) return {ToJob{SIGCONT, signal.value}, ResumeTree{}};
  // A tree outside our group has no shell that would continue it: it is stopped with us.
  if (signal.sender == os::Sender::terminal && os::stops_a_process(signal.number)) {
    return {ToTree{SIGSTOP}, Follow{signal.number}, ResumeTree{}};
  }
  return pass_on(signal, now);
}

/// The group got it from its sender; the rest of the tree gets it from us.
Actions JobPolicy::complete_stop(int signal, base::Moment now) {
  if (stop_passed_on_) return {};  // the job has heard each of them
  stop_passed_on_ = PassedOn{signal, now};
  return {ToOthers{signal}};
}

Actions JobPolicy::pass_on(const os::Signal& signal, base::Moment now) {
  // HUP and QUIT mean "reload" and "dump" to many a program, USR1 and USR2 mean anything: those are
  // for the job's own process. TERM and INT mean "stop", and that is for all of it: a shell that
  // waits for its command would otherwise not even see them before the command ends.
  // Once the job's own process has ended, what ends it is for the rest that is waited for.
  const bool stop = is_stop(signal.number) || (ended_ && is_deadly(signal.number));
  if (!stop) return {ToJob{signal.number, signal.value}};
  if (stop_passed_on_) {
    const bool same =
        signal.number == stop_passed_on_->signal && now < stop_passed_on_->at + doubled_within;
    return same ? Actions{} : kill_tree();
  }
  stop_passed_on_ = PassedOn{signal.number, now};
  // Commands in the background of a shell ignore INT and QUIT.
  if (ended_ && phase_ == Phase::running) return stop_tree(now);
  return {ToTree{signal.number}};
}

Actions JobPolicy::on_news(const News& news, base::Moment now) {
  return base::match(
      news,
      [&](const Extended& extended) -> Actions {
        trouble_.clear();
        terms_.valid_until = extended.valid_until;
        return {};
      },
      [&](const Trouble& trouble) -> Actions {
        trouble_ = " (" + trouble.why + ")";
        return {};
      },
      [&](const Lost& lost) { return lose(quoted(lost.name), lost.why, now); },
      [&](const AskedToStop& asked) {
        return stop_for({StoppedFor::Reason::request, asked.why},
                        fmt::format("the run under {} was {}", quoted(asked.name), asked.why), now);
      });
}

Actions JobPolicy::on_job_stopped(int signal, bool has_terminal) {
  if (!os::stops_a_process(signal)) {
    // SIGSTOP means this one process; then the lease is kept alive for it. But a shell stops itself
    // by it (suspend): nobody could type at its terminal while we go on.
    if (!has_terminal) return {};
    signal = SIGTSTP;  // the kernel does nothing where nobody could continue us
  }
  followed_ = true;
  return {Follow{signal}};
}

bool JobPolicy::has_heard(int signal) const {
  return std::count(heard_.begin(), heard_.end(), signal) > 0;
}

bool JobPolicy::was_told_to_end() const {
  // Many a job survives HUP and QUIT, and ends by itself much later.
  return has_heard(SIGTERM) || has_heard(SIGINT) ||
         (ended_ && ended_->signalled() && has_heard(ended_->signal()));
}

Actions JobPolicy::on_job_ended(os::ExitStatus status, base::Moment now) {
  ended_ = status;
  if (phase_ != Phase::running) return {};
  const bool died_of_heard = status.signalled() && has_heard(status.signal());
  // Whoever is killed, by hand or for want of memory, could not see to what it had started.
  const bool was_killed = status.signalled() && status.signal() == SIGKILL;
  // It ended by itself: what it left behind is its business.
  if (!stop_passed_on_ && !died_of_heard && !was_killed) return {};
  Actions actions = stop_tree(now);
  // The rest has had its TERM together with it, and what cleans up since is to come to its end.
  const bool all_heard = stop_passed_on_ && stop_passed_on_->signal == SIGTERM;
  return all_heard ? Actions{} : actions;
}

Actions JobPolicy::on_guardian_killed() {
  if (phase_ == Phase::killing) return {};
  (void)kill_tree();
  return say("the guardian of the job was killed; killing the job", "guardian-killed");
}

Actions JobPolicy::last_words() {
  say_at_ = store::Deadline::never();
  return std::exchange(unsaid_, {});
}

Actions JobPolicy::on_time(base::Moment now) {
  if (phase_ == Phase::running && end().earlier_by(terms_.grace).passed(now)) {
    if (const auto why = overran()) return stop_for({StoppedFor::Reason::time, *why}, *why, now);
    return lose(terms_.locks, "the lease could not be refreshed in time" + trouble_, now);
  }
  if (phase_ == Phase::stopping && kill_at_.passed(now)) return kill_tree();
  if (phase_ == Phase::killing && kill_at_.passed(now)) {
    kill_at_ = store::Deadline::after(now, kill_rounds);
    Actions actions{ToTree{SIGKILL}};
    if (say_at_.is_never()) say_at_ = store::Deadline::after(now, silent_kill);
    if (say_at_.passed(now)) {
      const Actions unsaid = std::exchange(unsaid_, {});
      actions.insert(actions.end(), unsaid.begin(), unsaid.end());
    }
    return actions;
  }
  return {};
}

void JobPolicy::kill_again(store::Deadline at) {
  if (phase_ == Phase::killing) kill_at_ = at;
}

store::Deadline JobPolicy::due() const {
  return phase_ == Phase::running ? end().earlier_by(terms_.grace) : kill_at_;
}

store::Deadline JobPolicy::last_moment() const {
  const auto latest = terms_.on_lost == OnLost::warn ? terms_.latest_end : end();
  return latest.earlier_by(std::min(guardian_lead, terms_.grace / 8));
}

Actions JobPolicy::lose(const std::string& locks, const std::string& why, base::Moment now) {
  const std::string line = fmt::format("lost the lock {}: {}", locks, why);
  if (terms_.on_lost == OnLost::stop) return stop_for({StoppedFor::Reason::loss, why}, line, now);
  terms_.valid_until = store::Deadline::never();
  if (warned_of_) return {};
  warned_of_ = why;
  return say(line + "; the job runs on", "lost");
}

Actions JobPolicy::stop_for(StoppedFor reason, const std::string& line, base::Moment now) {
  const bool all_waited_for = terms_.wait_all && phase_ == Phase::running;
  if (stopped_for_ || (ended_ && !all_waited_for)) return {};
  stopped_for_ = std::move(reason);
  Actions actions = phase_ == Phase::running ? stop_tree(now) : Actions{};
  const Actions told = say(line + "; stopping the job", event_of(stopped_for_->reason));
  actions.insert(actions.end(), told.begin(), told.end());
  return actions;
}

Actions JobPolicy::stop_tree(base::Moment now) {
  if (end().passed(now)) return kill_tree();  // we were not running when it was time
  phase_ = Phase::stopping;
  const auto last_moment = end().earlier_by(std::min(kill_lead, terms_.grace / 4));
  kill_at_ = std::min(last_moment, store::Deadline::after(now, terms_.grace));
  return {ToTree{SIGTERM}};
}

/// Our guardian kills in our place while we write, if it still is there; but a kill that we have
/// begun comes first.
Actions JobPolicy::say(std::string text, std::string_view event) {
  Say line{std::move(text), event};
  if (phase_ != Phase::killing) return {std::move(line)};
  unsaid_.emplace_back(std::move(line));
  return {};
}

Actions JobPolicy::kill_tree() {
  phase_ = Phase::killing;
  kill_at_ = store::Deadline::at({});  // at once, and then in rounds
  return {};
}

}  // namespace hold
