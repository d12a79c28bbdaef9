// One plan being carried out: its clients with their jobs, and what happens to them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "clients.hpp"
#include "hold/acquire.hpp"
#include "hold/job_policy.hpp"
#include "hold/renewer.hpp"
#include "hold/run_end.hpp"
#include "judge.hpp"
#include "os/fd.hpp"
#include "os/signals.hpp"
#include "store/lock_admin.hpp"
#include "store/redis/server.hpp"

namespace sim {

inline Nanos nanos(base::Millis length) {
  return length.count() * ms;
}

store::RedisServer redis_at(std::size_t server);

/// A job's process, its guardian, and what tells rlock that it is over.
struct RunningJob : Job {
  os::Fd over;  // an eventfd
  std::uint64_t orders = 0;
  bool by_signal = false;
  int code = 0;            // if not
  Nanos needs_to_die = 0;  // from TERM on, if nobody kills it
  Nanos ended = 0;
};

class Run {
 public:
  Run(const Plan& plan, const std::shared_ptr<ScriptEngine>& engine, const Sabotage& sabotage,
      bool tells)
      : plan_{plan}, sabotage_{sabotage}, world_{plan.seed, engine}, judge_{world_, plan, tells} {}

  Outcome operator()();

 private:
  struct Client {
    const ClientPlan* plan;
    Process* process;
    std::shared_ptr<RunningJob> job;
    Nanos lost_to_pauses = 0;
    bool takes_signals = false;
    Nanos terminated_at = -1;
  };

  void live(Client& client);
  void want(Client& client, const Wish& wish);
  void not_acquired(const Client& client, const Wish& wish, const hold::NotAcquired& why,
                    Nanos began);
  std::shared_ptr<RunningJob> start_job(Client& client, const Wish& wish,
                                        const hold::HeldLocks& held);
  void work(Client& client, const Wish& wish, hold::HeldLocks held, os::Signals& signals);
  void work_in_steps(Client& client, const Wish& wish, hold::HeldLocks held);
  [[nodiscard]] bool step(Client& client, const Wish& wish, std::vector<store::Lease>& leases);
  void guard(const std::shared_ptr<RunningJob>& job, base::Deadline last);
  void supervise(Client& client, hold::Renewer& renewer, hold::JobPolicy& policy,
                 os::Signals& signals, const std::shared_ptr<RunningJob>& job);
  void obey(Client& client, const hold::Actions& actions, const std::shared_ptr<RunningJob>& job);
  void give_back(Client& client, hold::Renewer& renewer, const store::Parting& parting, bool lost);
  store::Parting parting_of(const Job& job, const Wish& wish, const store::RunEnd& end,
                            bool told_to_end);
  void signal_job(const std::shared_ptr<RunningJob>& job, int number);
  void end_job(const std::shared_ptr<RunningJob>& job, int status);

  std::unique_ptr<store::LockStore> open_store() const;
  std::unique_ptr<store::LockAdmin> open_admin() const;
  void happen(const Incident& incident);
  void crash(Client& client);
  void operate(const Incident& incident);
  void come_as_foreign(const Incident& incident);
  void sleep(base::Millis length) {
    world_.wait(world_.now() + nanos(length), [] { return false; });
  }

  const Plan& plan_;
  const Sabotage& sabotage_;
  World world_;
  Judge judge_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::unique_ptr<Job>> foreign_;
};

}  // namespace sim
