#include "hold/job_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/result.hpp"
#include "base/text.hpp"

namespace hold {
namespace {

// Finding and reaching every process of a tree takes time, which must not be the next holder's.
constexpr base::Millis kill_lead{20};
// The guardian kills after us, and still in time.
constexpr base::Millis guardian_lead = kill_lead / 2;
// The pause between two rounds of KILL, for processes that forked during a look.
constexpr base::Millis kill_rounds{10};
// stderr can be a file on a silent server, where a write blocks for ever. So write nothing while we
// kill, until the tree is gone or this time has passed.
constexpr base::Millis silent_kill{1'000};

// timeout(1) signals its child and then the child's group, and a shell's kill %1 reaches both rlock
// and a run below it: the same signal twice within this time counts once.
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
  // A job that signals its group means itself. We do not obey it.
  if (signal.sender == os::Sender::job) return {};
  // A shell's fg continues the whole group, so after ^Z the job already has it.
  if (after_stop) return {ResumeTree{}};
  if (heard == JobHeard::yes) {
    const bool to_group = signal.sender == os::Sender::process;
    return to_group && is_stop(signal.number) ? complete_stop(signal.number, now) : Actions{};
  }
  if (signal.number == SIGCONT) return {ToJob{SIGCONT, signal.value}, ResumeTree{}};
  // No shell would continue a tree outside of our group, so it is stopped with us.
  if (signal.sender == os::Sender::terminal && os::stops_a_process(signal.number)) {
    return {ToTree{SIGSTOP}, Follow{signal.number}, ResumeTree{}};
  }
  return pass_on(signal, now);
}

/// The sender signalled the group; we pass the signal on to the rest of the tree.
Actions JobPolicy::complete_stop(int signal, base::Moment now) {
  if (stop_passed_on_) return {};  // the job has received each of them
  stop_passed_on_ = PassedOn{signal, now};
  return {ToOthers{signal}};
}

Actions JobPolicy::pass_on(const os::Signal& signal, base::Moment now) {
  // To many programs HUP and QUIT mean "reload" and "dump", and USR1 and USR2 can mean anything:
  // these are for the job's own process. TERM and INT mean "stop", for the whole tree: a shell that
  // waits for its command would otherwise not act on them before the command ends. Once the job's
  // own process has ended, deadly signals are for the rest of the tree.
  const bool stop = is_stop(signal.number) || (ended_ && is_deadly(signal.number));
  if (!stop) return {ToJob{signal.number, signal.value}};
  if (stop_passed_on_) {
    const bool same =
        signal.number == stop_passed_on_->signal && now < stop_passed_on_->at + doubled_within;
    return same ? Actions{} : kill_tree();
  }
  stop_passed_on_ = PassedOn{signal.number, now};
  // A shell's background commands ignore INT and QUIT.
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
    // SIGSTOP is meant for this one process, and the lease is kept alive for it. But a shell stops
    // itself with it (suspend): its terminal would be unusable if we went on.
    if (!has_terminal) return {};
    signal = SIGTSTP;  // the kernel does nothing if no shell could continue us
  }
  followed_ = true;
  return {Follow{signal}};
}

bool JobPolicy::has_heard(int signal) const {
  return std::count(heard_.begin(), heard_.end(), signal) > 0;
}

bool JobPolicy::was_told_to_end() const {
  // Many jobs survive HUP and QUIT, and end by themselves much later.
  return has_heard(SIGTERM) || has_heard(SIGINT) ||
         (ended_ && ended_->signalled() && has_heard(ended_->signal()));
}

Actions JobPolicy::on_job_ended(os::ExitStatus status, base::Moment now) {
  ended_ = status;
  if (phase_ != Phase::running) return {};
  const bool died_of_heard = status.signalled() && has_heard(status.signal());
  // A command killed by SIGKILL (by hand or by the OOM killer) could not stop its children.
  const bool was_killed = status.signalled() && status.signal() == SIGKILL;
  // It ended by itself, so its leftover processes are its own business.
  if (!stop_passed_on_ && !died_of_heard && !was_killed) return {};
  Actions actions = stop_tree(now);
  // The rest received TERM together with it; let its cleanup finish.
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
  if (end().passed(now)) return kill_tree();  // we were not running at that time
  phase_ = Phase::stopping;
  const auto last_moment = end().earlier_by(std::min(kill_lead, terms_.grace / 4));
  kill_at_ = std::min(last_moment, store::Deadline::after(now, terms_.grace));
  return {ToTree{SIGTERM}};
}

/// The guardian, if it is still there, kills in our place while we write; but first complete a kill
/// that we have begun.
Actions JobPolicy::say(std::string text, std::string_view event) {
  Say line{std::move(text), event};
  if (phase_ != Phase::killing) return {std::move(line)};
  unsaid_.emplace_back(std::move(line));
  return {};
}

Actions JobPolicy::kill_tree() {
  phase_ = Phase::killing;
  kill_at_ = store::Deadline::at({});  // at once, then in rounds
  return {};
}

}  // namespace hold
