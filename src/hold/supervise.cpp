#include "hold/supervise.hpp"

#include <csignal>

#include "base/log.hpp"
#include "base/result.hpp"

namespace hold {
namespace {

class Supervisor {
 public:
  Supervisor(os::Guardian& guardian, const os::ProcessTree& tree, Renewer& renewer,
             JobPolicy policy, os::Signals& signals, os::Timer& timer)
      : guardian_{guardian},
        tree_{tree},
        renewer_{renewer},
        policy_{std::move(policy)},
        signals_{signals},
        timer_{timer} {}

  Ending run();

 private:
  void carry_out(const Actions& actions);
  void say_refusal(int signal, const os::Reached& reached);
  void look_at_clock();
  void look_at_signals();
  void look_at_job();
  [[nodiscard]] bool done() const {
    return policy_.is_done() || (policy_.awaits_tree() && tree_.empty());
  }

  os::Guardian& guardian_;
  const os::ProcessTree& tree_;
  Renewer& renewer_;
  JobPolicy policy_;
  os::Signals& signals_;
  os::Timer& timer_;
  bool refusal_said_ = false;
};

Ending Supervisor::run() {
  for (;;) {
    timer_.set(std::min(policy_.due(), renewer_.begin_at()));
    guardian_.keep_until(policy_.last_moment());
    os::wait_any(
        {signals_.descriptor(), guardian_.descriptor(), renewer_.descriptor(), timer_.descriptor()},
        base::Deadline::never());
    // The clock first: after a pause the lease may be over, and then nothing else matters.
    look_at_clock();
    look_at_signals();
    look_at_job();
    while (const auto news = renewer_.take()) carry_out(policy_.on_news(*news, base::now()));
    look_at_clock();
    if (done())
      return {*policy_.ended(), policy_.stopped_for(), policy_.warned_of(),
              policy_.was_told_to_end()};
  }
}

void Supervisor::look_at_clock() {
  const auto now = base::now();
  if (renewer_.begin_at().passed(now)) renewer_.begin();
  carry_out(policy_.on_time(now));
}

void Supervisor::look_at_signals() {
  while (const auto signal = signals_.take()) {
    if (signal->number == SIGCHLD) continue;
    const auto heard =
        guardian_.job_is_in_our_group() ? JobPolicy::JobHeard::yes : JobPolicy::JobHeard::no;
    carry_out(policy_.on_signal(*signal, heard, base::now()));
  }
}

void Supervisor::look_at_job() {
  for (;;) {
    const auto change = guardian_.take();
    if (guardian_.was_killed()) carry_out(policy_.on_guardian_killed());
    if (!change) return;
    // We may have been stopped meanwhile, by ourselves even, and the job killed for that.
    look_at_clock();
    if (change->kind == os::Change::Kind::stopped) {
      carry_out(policy_.on_job_stopped(change->stop_signal()));
    } else {
      carry_out(policy_.on_job_ended(os::ExitStatus{change->status}, base::now()));
    }
  }
}

void Supervisor::carry_out(const Actions& actions) {
  for (const Action& action : actions) {
    base::match(
        action, [&](const ToJob& to) { guardian_.signal_job(to.signal); },
        [&](const ToTree& to) {
          if (to.signal == SIGKILL) guardian_.kill_tree();
          const auto reached = tree_.signal(to.signal);
          say_refusal(to.signal, reached);
          // Should /proc be gone, at least the job itself.
          if (reached.processes == 0 && !reached.refused) guardian_.signal_job(to.signal);
        },
        [&](const ResumeTree&) { say_refusal(SIGCONT, tree_.resume()); },
        [&](const Follow& follow) { os::Signals::suspend(follow.signal); },
        [&](const Say& say) { base::log::Entry{say.event}.error("{}", say.text); });
  }
}

/// Once: what may not be signalled, a program of another user's, is tried again until it is gone.
void Supervisor::say_refusal(int signal, const os::Reached& reached) {
  if (!reached.refused || std::exchange(refusal_said_, true)) return;
  base::log::error("{}", reached.refused->text(signal));
}

}  // namespace

Ending supervise(os::Guardian& guardian, const os::ProcessTree& tree, Renewer& renewer,
                 JobPolicy policy, os::Signals& signals, os::Timer& timer) {
  try {
    Ending ending = Supervisor{guardian, tree, renewer, std::move(policy), signals, timer}.run();
    guardian.dismiss();
    return ending;
  } catch (...) {
    // Whoever catches this will release the lock: not while the job runs.
    while (!tree.empty()) {
      tree.signal(SIGKILL);
      os::wait_any({}, base::Deadline::after(base::now(), base::Millis{10}));
      while (guardian.take()) {
      }
    }
    guardian.dismiss();
    throw;
  }
}

}  // namespace hold
