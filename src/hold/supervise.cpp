#include "hold/supervise.hpp"

#include <csignal>
#include <deque>

#include "base/log.hpp"
#include "base/result.hpp"
#include "hold/addressees.hpp"
#include "os/error.hpp"
#include "os/kill_rounds.hpp"

namespace hold {
namespace {

class Supervisor {
 public:
  Supervisor(os::Guardian& guardian, os::Witness& witness, os::ProcessTree& tree, Renewer& renewer,
             JobPolicy policy, os::Signals& signals, os::Timer& timer)
      : guardian_{guardian},
        witness_{witness},
        tree_{tree},
        renewer_{renewer},
        policy_{std::move(policy)},
        signals_{signals},
        timer_{timer} {}

  Ending run();

 private:
  enum class JobIs { fresh, settled };

  void carry_out(const Actions& actions);
  void look_at_round(const os::Reached& reached);
  void say_refusal(int signal, const os::Reached& reached);
  void look_at_clock();
  void look_at_signals(JobIs job);
  void look_at(const os::Signal& taken, JobIs job);
  void look_at_addressees();
  void look_at_job();
  void look_at(const os::Change& change);
  [[nodiscard]] bool is_of_job(pid_t sender) const;
  [[nodiscard]] bool done() const {
    return policy_.is_done() || (policy_.awaits_tree() && tree_.empty());
  }

  os::Guardian& guardian_;
  os::Witness& witness_;
  os::ProcessTree& tree_;
  Renewer& renewer_;
  JobPolicy policy_;
  os::Signals& signals_;
  os::Timer& timer_;
  bool refusal_said_ = false;
  os::KillRounds rounds_;
  Addressees addressees_;
  std::deque<os::Change> changes_;  // of the job; earlier signals come first
  base::Deadline witness_due_ = base::Deadline::after(base::now(), os::short_job);
};

Ending Supervisor::run() {
  signals_.take_all();
  if (const auto guardian = tree_.guardian()) renewer_.watch_over(*guardian);
  // These arrived before the job existed or had begun: it has received none of them.
  look_at_signals(JobIs::fresh);
  for (;;) {
    timer_.set(std::min({policy_.due(), renewer_.begin_at(), addressees_.due(), witness_due_}));
    guardian_.keep_until(policy_.last_moment());
    renewer_.note_alive(base::now(), policy_.last_moment());
    os::wait_any({signals_.descriptor(), guardian_.descriptor(), witness_.descriptor(),
                  renewer_.descriptor(), timer_.descriptor()},
                 base::Deadline::never());
    // The clock first: after a pause the lease may be over, and then nothing else matters.
    look_at_clock();
    look_at_signals(JobIs::settled);
    look_at_job();
    while (const auto news = renewer_.take()) carry_out(policy_.on_news(*news, base::now()));
    look_at_clock();
    if (done()) {
      carry_out(policy_.last_words());
      witness_.dismiss();
      return {*policy_.ended(), policy_.stopped_for(), policy_.warned_of(),
              policy_.was_told_to_end()};
    }
  }
}

void Supervisor::look_at_clock() {
  const auto now = base::now();
  // Before the renewer has a thread.
  if (!witness_due_.is_never() && (witness_due_.passed(now) || renewer_.begin_at().passed(now))) {
    witness_due_ = base::Deadline::never();
    if (!policy_.ended()) witness_.start(signals_);
    if (witness_.is_present()) tree_.exclude(witness_.pid());
  }
  if (renewer_.begin_at().passed(now)) renewer_.begin();
  carry_out(policy_.on_time(now));
}

void Supervisor::look_at_signals(JobIs job) {
  while (const auto signal = signals_.take()) {
    if (signal->number != SIGCHLD) look_at(*signal, job);
  }
}

void Supervisor::look_at(const os::Signal& taken, JobIs job) {
  os::Signal signal = taken;
  if (signal.sender == os::Sender::process && is_of_job(signal.pid)) {
    signal.sender = os::Sender::job;
  }
  const auto now = base::now();
  bool heard = false;
  if (job == JobIs::settled) {
    const bool in_our_group = guardian_.job_is_in_our_group();
    const bool after_stop = signal.number == SIGCONT && policy_.follows();
    if (signal.sender == os::Sender::process && in_our_group && !after_stop &&
        witness_.is_present() && guardian_.hears()) {
      policy_.on_arrival(signal);
      addressees_.came(signal, os::is_service_manager(signal.pid), now);
      return;
    }
    heard = signal.sender == os::Sender::outer_run ||
            (signal.sender == os::Sender::terminal && in_our_group);
  }
  carry_out(
      policy_.on_signal(signal, heard ? JobPolicy::JobHeard::yes : JobPolicy::JobHeard::no, now));
}

bool Supervisor::is_of_job(pid_t sender) const {
  if (tree_.is_member(sender)) return true;
  // It may have ended right after; but a stranger may have its number by now.
  return sender != 0 && sender == guardian_.job() && !os::exists(sender);
}

void Supervisor::look_at_addressees() {
  const auto now = base::now();
  const auto hear = [&](Addressees::Witness by, const os::Report& report) {
    if (report.kind == os::Report::Kind::answer) {
      addressees_.answered(by, report.value);
    } else {
      addressees_.witnessed(by, report.value, report.job, now);
    }
  };
  while (const auto report = witness_.take()) hear(Addressees::Witness::in_group, *report);
  while (const auto report = guardian_.take_of_signals()) {
    hear(Addressees::Witness::guardian, *report);
  }
  if (!witness_.is_present()) addressees_.gone(Addressees::Witness::in_group);
  if (!guardian_.hears()) addressees_.gone(Addressees::Witness::guardian);
  if (const auto question = addressees_.question(now)) {
    witness_.ask(*question);
    guardian_.ask(*question);
  }
  while (const auto decided = addressees_.take(now)) {
    const auto heard = decided->job_has_it ? JobPolicy::JobHeard::yes : JobPolicy::JobHeard::no;
    carry_out(policy_.on_signal(decided->signal, heard, now));
  }
}

void Supervisor::look_at_job() {
  while (const auto change = guardian_.take()) {
    changes_.push_back(*change);
    if (change->kind == os::Change::Kind::ended) addressees_.hurry();
  }
  if (guardian_.was_killed()) carry_out(policy_.on_guardian_killed());
  look_at_addressees();
  while (!changes_.empty() && addressees_.empty()) {
    look_at(changes_.front());
    changes_.pop_front();
  }
}

void Supervisor::look_at(const os::Change& change) {
  // We may have been stopped in between, even by ourselves, and the job killed for that.
  look_at_clock();
  if (change.kind == os::Change::Kind::stopped) {
    // Reported late, after fg: the stop is over, and no shell would continue us again.
    if (!guardian_.job_is_stopped()) return;
    const bool has_terminal = guardian_.job_has_terminal();
    carry_out(policy_.on_job_stopped(change.stop_signal(), has_terminal));
  } else {
    carry_out(policy_.on_job_ended(os::ExitStatus{change.status}, base::now()));
  }
}

void Supervisor::carry_out(const Actions& actions) {
  for (const Action& action : actions) {
    base::match(
        action, [&](const ToJob& to) { guardian_.signal_job(to.signal, to.value); },
        [&](const ToTree& to) {
          if (to.signal == SIGKILL) guardian_.kill_tree();
          const auto reached = tree_.signal(to.signal);
          if (to.signal == SIGKILL) look_at_round(reached);
          say_refusal(to.signal, reached);
          // The guardian has its own descriptors for a look, and knows the job itself.
          if (reached.processes == 0 && !reached.refused) guardian_.signal_tree(to.signal);
        },
        [&](const ToOthers& to) {
          say_refusal(to.signal,
                      tree_.signal(to.signal, os::ProcessTree::Members::outside_our_group));
        },
        [&](const ResumeTree&) { say_refusal(SIGCONT, tree_.resume()); },
        [&](const Follow& follow) { os::Signals::suspend(follow.signal); },
        [&](const Say& say) { base::log::Event{say.event}.error("{}", say.text); });
  }
}

void Supervisor::look_at_round(const os::Reached& reached) {
  const auto now = base::now();
  rounds_.met(reached, now);
  policy_.kill_again(rounds_.due());
  if (const auto line = rounds_.complaint(tree_, now)) base::log::error("{}", *line);
}

/// Once: processes that we may not signal, such as another user's, and processes that we cannot see
/// are tried again until they are gone.
void Supervisor::say_refusal(int signal, const os::Reached& reached) {
  if (!reached.refused && reached.unseen == 0) return;
  if (std::exchange(refusal_said_, true)) return;
  if (reached.refused) return base::log::error("{}", reached.refused->text(signal));
  base::log::error("cannot look for the processes of the job: {}", os::describe(reached.unseen));
}

}  // namespace

Ending supervise(os::Guardian& guardian, os::Witness& witness, os::ProcessTree& tree,
                 Renewer& renewer, JobPolicy policy, os::Signals& signals, os::Timer& timer) {
  try {
    Ending ending =
        Supervisor{guardian, witness, tree, renewer, std::move(policy), signals, timer}.run();
    guardian.dismiss();
    return ending;
  } catch (...) {
    witness.dismiss();
    // The catcher will release the lock: not while the job runs.
    for (os::KillRounds rounds; !tree.empty();) {
      rounds.met(tree.signal(SIGKILL), base::now());
      os::wait_any({}, rounds.due());
      while (guardian.take()) {
      }
    }
    guardian.dismiss();
    throw;
  }
}

}  // namespace hold
