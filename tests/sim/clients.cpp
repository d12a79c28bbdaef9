#include "clients.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <csignal>

#include "base/result.hpp"
#include "hold/acquire.hpp"
#include "hold/job_policy.hpp"
#include "hold/renewer.hpp"
#include "judge.hpp"
#include "os/fd.hpp"
#include "store/quorum/store.hpp"
#include "store/redis/redis.hpp"
#include "store/redis/scripts.hpp"

namespace sim {
namespace {

using base::Deadline;
using base::Millis;
namespace scripts = store::redis::scripts;

constexpr Nanos ms = 1'000'000;
constexpr Nanos s = 1000 * ms;
// All jobs, one after the other, behind all that can go wrong.
constexpr Nanos horizon = 1'200 * s;
constexpr Nanos guardian_needs = 2 * ms;

Nanos nanos(Millis length) {
  return length.count() * ms;
}

/// A job's process, its guardian, and what tells rlock that it is over.
struct RunningJob : Job {
  os::Fd over;  // an eventfd
  std::uint64_t orders = 0;
  bool by_signal = false;
  int status = 0;
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
  };

  void live(Client& client);
  void want(Client& client, const Wish& wish);
  void not_acquired(const Client& client, const Wish& wish, const hold::NotAcquired& why,
                    Nanos began);
  void work(Client& client, const Wish& wish, hold::HeldLocks held, os::Signals& signals);
  void supervise(Client& client, hold::Renewer& renewer, hold::JobPolicy& policy,
                 os::Signals& signals, const std::shared_ptr<RunningJob>& job);
  void obey(Client& client, const hold::Actions& actions, const std::shared_ptr<RunningJob>& job);
  void give_back(Client& client, hold::Renewer& renewer, Millis min_hold, bool lost);
  void signal_job(const std::shared_ptr<RunningJob>& job, int number);
  void end_job(const std::shared_ptr<RunningJob>& job, int status);

  std::unique_ptr<store::LockStore> open_store() const;
  void happen(const Incident& incident);
  void crash(Client& client);
  void operate(const Incident& incident);
  void come_as_foreign(const Incident& incident);
  void sleep(Millis length) {
    world_.wait(world_.now() + nanos(length), [] { return false; });
  }

  const Plan& plan_;
  const Sabotage& sabotage_;
  World world_;
  Judge judge_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::unique_ptr<Job>> foreign_;
};

std::string path_of(std::size_t server) {
  return "/sim/" + std::to_string(server);
}

store::RedisServer redis_at(std::size_t server) {
  return {store::RedisServer::Nodes{store::RedisServer::Unix{path_of(server)}}, {}};
}

std::unique_ptr<store::LockStore> Run::open_store() const {
  std::unique_ptr<store::LockStore> opened;
  if (plan_.servers == 1) {
    opened = store::redis::open_store(redis_at(0));
  } else {
    std::vector<std::unique_ptr<store::LockStore>> nodes;
    for (std::size_t i = 0; i < plan_.servers; ++i) {
      auto node = store::redis::open_store(redis_at(i));
      nodes.push_back(sabotage_.node ? sabotage_.node(std::move(node), i) : std::move(node));
    }
    opened = store::quorum::open_store(std::move(nodes));
  }
  return sabotage_.store ? sabotage_.store(std::move(opened)) : std::move(opened);
}

Outcome Run::operator()() {
  Outcome outcome;
  world_.watch(&judge_);
  world_.sabotage_random(sabotage_.same_random);
  for (std::size_t i = 0; i < plan_.servers; ++i) {
    Server& server = world_.add_server(path_of(i));
    // Most servers know the scripts already.
    if (world_.random().chance(10)) continue;
    for (const auto* each : {&scripts::enter, &scripts::leave, &scripts::renew, &scripts::raise}) {
      (void)world_.command(server, {"script", "load", std::string{each->body}});
    }
  }
  for (const ClientPlan& each : plan_.clients) {
    // Its number, which tokens name, stays the same where others are left out.
    Process* process = nullptr;
    while (process == nullptr || process->number < each.number) {
      process = &world_.scheduler().new_process();
    }
    clients_.push_back(std::make_unique<Client>(Client{&each, process, nullptr}));
    Client& client = *clients_.back();
    world_.scheduler().spawn(*process, [this, &client] { live(client); });
  }
  for (const Incident& each : plan_.incidents) {
    if (each.disturbance) world_.disturb(*each.disturbance);
    world_.scheduler().at(each.at, [this, &each] { happen(each); });
  }
  try {
    world_.scheduler().run(horizon);
    outcome.length = world_.now();
    judge_.finish();
  } catch (const std::exception& error) {
    outcome.violation = error.what();
  }
  outcome.history = judge_.history();
  outcome.fingerprint = judge_.fingerprint();
  outcome.grants = judge_.grants();
  return outcome;
}

// ---- a client
// ------------------------------------------------------------------------------------

void Run::live(Client& client) {
  for (const Wish& wish : client.plan->wishes) {
    sleep(wish.after);
    want(client, wish);
    const auto open = world_.open_descriptors(*client.process);
    if (open > 0) throw Violation{fmt::format("{} descriptors are left open", open)};
  }
}

void Run::want(Client& client, const Wish& wish) {
  const int number = client.plan->number;
  const auto grace = std::min(Millis{5'000}, wish.ttl / 6);
  hold::Wanted wanted{{}, wish.wait.value_or(Millis::max()), grace};
  const auto token = store::Token::mint(*store::Label::from("job"));
  for (const std::string& key : wish.keys) {
    store::Claim claim{*store::LockName::from(key),
                       token,
                       *store::Ttl::from(wish.ttl),
                       wish.wait == Millis{0} ? store::OnBusy::give_up : store::OnBusy::queue,
                       wish.mode,
                       wish.max_waiters};
    claim.token_stays = wish.keys.size() > 1;
    if (wish.supersedes) claim.supersede = fmt::format("superseded by client {}", number);
    wanted.claims.push_back(std::move(claim));
  }
  os::Signals signals;
  judge_.say(number, "wants " + fmt::format("{}", fmt::join(wish.keys, ", ")));
  judge_.wants(number);
  const Nanos began = world_.now();
  const Nanos lost = client.lost_to_pauses;
  auto had = hold::acquire([this] { return open_store(); }, wanted, signals);
  if (wish.wait) {
    // The last question and the last word; of several locks and servers, several.
    const Nanos goodbye = plan_.is_calm() && wish.keys.size() == 1 ? 100 * ms : 9 * s;
    const Nanos longest = nanos(*wish.wait) + goodbye + client.lost_to_pauses - lost;
    if (world_.now() - began > longest) {
      throw Violation{fmt::format("client {} waited for {} ms in place of {}", number,
                                  (world_.now() - began) / ms, wish.wait->count())};
    }
  }
  if (auto* held = std::get_if<hold::HeldLocks>(&had)) {
    work(client, wish, std::move(*held), signals);
  } else {
    not_acquired(client, wish, std::get<hold::NotAcquired>(had), began);
  }
}

void Run::not_acquired(const Client& client, const Wish& wish, const hold::NotAcquired& why,
                       Nanos began) {
  const int number = client.plan->number;
  base::match(
      why,
      [&](const hold::GaveUp& gave_up) {
        judge_.say(number, fmt::format("gives up ({})", static_cast<int>(gave_up.why)));
        switch (gave_up.why) {
          case hold::GaveUp::Why::timed_out:
            if (!wish.wait || world_.now() - began < nanos(*wish.wait)) {
              throw Violation{fmt::format("client {} gave up before its wait was over", number)};
            }
            break;
          case hold::GaveUp::Why::busy:
            if (wish.wait != Millis{0}) throw Violation{"who waits gave up at once"};
            judge_.gave_up_busy(gave_up.name.text(), began);
            break;
          case hold::GaveUp::Why::crowded:
            if (!wish.max_waiters || gave_up.others < *wish.max_waiters) {
              throw Violation{
                  fmt::format("client {} takes {} waiters for too many", number, gave_up.others)};
            }
            break;
          case hold::GaveUp::Why::nested: throw Violation{"nobody is nested here"};
        }
      },
      [&](const hold::Dismissed& dismissed) {
        judge_.say(number, "is sent away: " + dismissed.why);
        judge_.dismissed(number, dismissed.why);
        if (plan_.shape != "supersede" && plan_.shape != "cancel") {
          throw Violation{"nobody sends anybody away here"};
        }
      },
      [&](const hold::Incompatible&) { throw Violation{"all modes go together here"}; },
      [&](const hold::Interrupted& interrupted) {
        judge_.say(number, fmt::format("is interrupted by {}", interrupted.signal));
        if (!plan_.has(Incident::Kind::terminate)) throw Violation{"nobody sent a signal"};
      },
      [&](const store::Fault& fault) {
        judge_.say(number, "cannot: " + fault.why);
        if (plan_.is_calm() && !judge_.is_unwell(number)) {
          throw Violation{"a fault where nothing is wrong: " + fault.why};
        }
        using Kind = store::Fault::Kind;
        if (fault.kind == Kind::denied || fault.kind == Kind::unusable ||
            fault.kind == Kind::misconfigured) {
          throw Violation{"a fault for ever: " + fault.why};
        }
        if (!wish.wait) throw Violation{"who waits for ever gave up: " + fault.why};
      });
}

void Run::work(Client& client, const Wish& wish, hold::HeldLocks held, os::Signals& signals) {
  const auto grace = std::min(Millis{5'000}, wish.ttl / 6);
  auto job = std::make_shared<RunningJob>();
  job->client = client.plan->number;
  job->keys = wish.keys;
  job->mode = wish.mode;
  job->began = job->asked = world_.now();
  for (const auto& lease : held.leases()) {
    job->asked = std::min(job->asked, world_.now() - (base::now() - lease.asked_at).count());
  }
  job->dying = std::min(nanos(wish.dying), nanos(grace));
  job->valid_until = held.valid_until().moment();
  for (const auto& lease : held.leases()) job->tokens.push_back(lease.token.text());
  job->fence = held.leases().front().fence;
  job->over = os::Fd{::eventfd(0, EFD_NONBLOCK)};
  job->status = static_cast<int>(nanos(wish.dying) / ms);
  judge_.say(job->client, fmt::format("has it, fence {}", job->fence));
  judge_.begins(*job);
  judge_.believes(*job, held.valid_until().moment());
  client.job = job;
  world_.scheduler().at(world_.now() + nanos(wish.work), [this, job] { end_job(job, 0); });

  auto believed = held.valid_until();
  if (sabotage_.late_policy) believed = Deadline::at(believed.moment() + std::chrono::seconds{1});
  hold::JobPolicy policy{{"'lock'", believed, grace, hold::OnLost::stop, false}};
  hold::Renewer renewer{std::move(held)};
  if (sabotage_.releases_before) give_back(client, renewer, wish.min_hold, false);
  if (!sabotage_.releases_before) supervise(client, renewer, policy, signals, job);
  const auto& stopped = policy.stopped_for();
  judge_.say(job->client, stopped ? "its job was stopped: " + stopped->why : "its job has ended");
  const bool lost = stopped && stopped->reason == hold::StoppedFor::Reason::loss;
  const bool asked = stopped && !lost;
  if (asked && plan_.shape != "supersede" && plan_.shape != "cancel") {
    throw Violation{"nobody asked anybody to stop here"};
  }
  if (asked) judge_.dismissed(job->client, stopped->why);
  const bool taken_away = plan_.shape == "force-release" || judge_.is_unwell(job->client);
  // A shared or numbered lease can be refreshed where no memory is left, as any other.
  const bool innocent =
      std::all_of(plan_.incidents.begin(), plan_.incidents.end(),
                  [](const Incident& each) { return each.kind == Incident::Kind::out_of_memory; });
  if (lost && !taken_away && (plan_.is_calm() || (innocent && plan_.servers == 1))) {
    throw Violation{"a lock was lost where nothing is wrong: " + stopped->why};
  }
  if (!sabotage_.releases_before) {
    give_back(client, renewer, stopped ? Millis{0} : wish.min_hold, lost);
  }
  if (!stopped && !sabotage_.releases_before) judge_.kept(*job, nanos(wish.min_hold));
  job->over = os::Fd{};
  client.job.reset();
}

// As hold/supervise.cpp does, whose processes are the kernel's.
void Run::supervise(Client& client, hold::Renewer& renewer, hold::JobPolicy& policy,
                    os::Signals& signals, const std::shared_ptr<RunningJob>& job) {
  os::Timer timer;
  bool told = false;
  const auto look_at_clock = [&] {
    if (renewer.begin_at().passed(base::now())) renewer.begin();
    obey(client, policy.on_time(base::now()), job);
  };
  for (;;) {
    timer.set(std::min(policy.due(), renewer.begin_at()));
    // The guardian's.
    const auto last = policy.last_moment();
    if (!last.is_never() && !sabotage_.no_guardian) {
      const auto order = ++job->orders;
      const auto in = (last.moment() - base::now()).count();
      world_.scheduler().at(world_.now() + in, [this, job, order] {
        if (job->orders == order && !sabotage_.nobody_kills) end_job(job, SIGKILL);
      });
    }
    os::wait_any(
        {signals.descriptor(), job->over.number(), renewer.descriptor(), timer.descriptor()},
        Deadline::never());
    look_at_clock();
    while (const auto signal = signals.take()) {
      obey(client, policy.on_signal(*signal, hold::JobPolicy::JobHeard::no, base::now()), job);
    }
    if (!job->alive && !std::exchange(told, true)) {
      obey(client, policy.on_job_ended(os::ExitStatus{job->by_signal ? SIGKILL : 0}, base::now()),
           job);
    }
    while (const auto news = renewer.take()) {
      if (const auto* extended = std::get_if<hold::Extended>(&*news)) {
        // A lost one's end counts no more.
        if (!extended->valid_until.is_never()) {
          job->valid_until = extended->valid_until.moment();
          judge_.believes(*job, job->valid_until);
        }
      }
      if (std::holds_alternative<hold::AskedToStop>(*news) && sabotage_.deaf_policy) continue;
      obey(client, policy.on_news(*news, base::now()), job);
    }
    look_at_clock();
    if (policy.is_done() || (policy.awaits_tree() && !job->alive)) return;
  }
}

void Run::obey(Client& client, const hold::Actions& actions,
               const std::shared_ptr<RunningJob>& job) {
  for (const hold::Action& action : actions) {
    base::match(
        action, [&](const hold::ToJob& to) { signal_job(job, to.signal); },
        [&](const hold::ToTree& to) { signal_job(job, to.signal); }, [](const hold::ResumeTree&) {},
        [](const hold::Follow&) {},
        [&](const hold::Say& say) { judge_.say(client.plan->number, say.text); });
  }
}

void Run::signal_job(const std::shared_ptr<RunningJob>& job, int number) {
  if (!job->alive) return;
  if (number == SIGKILL) {
    if (!sabotage_.nobody_kills) end_job(job, SIGKILL);
  } else if (number == SIGTERM || number == SIGINT) {
    const Nanos dies = world_.now() + job->status * ms;
    world_.scheduler().at(dies, [this, job] { end_job(job, SIGTERM); });
  }
}

void Run::end_job(const std::shared_ptr<RunningJob>& job, int status) {
  if (!job->alive || job->over.number() < 0) return;
  job->by_signal = status != 0;
  judge_.say(job->client, status == SIGKILL ? "its job is killed" : "its job ends");
  judge_.ends(*job);
  (void)::eventfd_write(job->over.number(), 1);
}

void Run::give_back(Client& client, hold::Renewer& renewer, Millis min_hold, bool lost) {
  const os::CallLimit limit{Deadline::after(base::now(), hold::Held::longest_last_word)};
  auto stopped = renewer.stop(limit.until);
  auto* all = std::get_if<std::vector<hold::ReturnedLock>>(&stopped);
  if (all == nullptr) throw Violation{"the renewing thread does not end"};
  for (hold::ReturnedLock& each : *all) {
    if (each.lost) {
      each.held.give_up();
    } else {
      const auto release = each.held.release(limit, min_hold);
      const auto* not_ours = std::get_if<store::NotOurs>(&release);
      if (not_ours != nullptr) judge_.say(client.plan->number, "had lost it: " + not_ours->why);
      const bool fine = std::holds_alternative<store::Released>(release);
      const bool unwell = judge_.is_unwell(client.plan->number) || lost;
      if (!fine && !unwell && plan_.is_calm() && plan_.shape != "force-release") {
        throw Violation{"a release fails where nothing is wrong"};
      }
    }
    if (each.notice) each.held.confirm_stopped(*each.notice, limit);
  }
}

// ---- incidents
// -----------------------------------------------------------------------------------

void Run::crash(Client& client) {
  if (client.process->dead) return;
  judge_.say(client.plan->number, "crashes");
  judge_.crashed(client.plan->number);
  world_.crash(*client.process);
  if (!client.job) return;
  if (sabotage_.no_guardian) return;
  world_.scheduler().at(world_.now() + guardian_needs,
                        [this, job = client.job] { end_job(job, SIGKILL); });
}

void Run::happen(const Incident& incident) {
  using Kind = Incident::Kind;
  Server& server = world_.server(incident.server);
  const auto found = std::find_if(clients_.begin(), clients_.end(), [&](const auto& each) {
    return each->plan->number == incident.client;
  });
  Client* client = found == clients_.end() ? nullptr : found->get();
  switch (incident.kind) {
    case Kind::disturbance: judge_.say(0, "the network is disturbed"); return;
    case Kind::stop_server:
      judge_.say(0, fmt::format("server {} is stopped", server.number));
      world_.stop(server, world_.now() + incident.length);
      return;
    case Kind::restart_with_data:
    case Kind::restart_without_data: {
      const bool kept = incident.kind == Kind::restart_with_data;
      judge_.say(0, fmt::format("server {} goes down{}", server.number,
                                kept ? "" : " and loses its data"));
      if (!kept) judge_.data_lost(server);
      world_.go_down(server, kept ? RedisDouble::Data::kept : RedisDouble::Data::lost);
      world_.scheduler().at(world_.now() + incident.length, [&server] { server.down = false; });
      return;
    }
    case Kind::flush_scripts: (void)world_.command(server, {"script", "flush"}); return;
    case Kind::out_of_memory:
      judge_.say(0, fmt::format("server {} is out of memory", server.number));
      server.redis.set_out_of_memory(true);
      world_.scheduler().at(world_.now() + incident.length,
                            [&server] { server.redis.set_out_of_memory(false); });
      return;
    case Kind::step_clock:
      judge_.say(0, fmt::format("the clock of server {} is stepped by {} µs", server.number,
                                incident.amount));
      // What a lease may be shorter by is 1 % of it, 10 ms of the shortest one here.
      if (incident.amount > 0) judge_.leases_are_void();
      world_.step_clock(server, incident.amount);
      return;
    case Kind::drift: world_.set_drift(server, incident.amount); return;
    case Kind::crash:
      if (client != nullptr) crash(*client);
      return;
    case Kind::pause:
      if (client == nullptr || client->process->dead) return;
      judge_.say(incident.client, "is stopped");
      judge_.paused(incident.client);
      client->lost_to_pauses += incident.length;
      world_.scheduler().stop(*client->process, world_.now() + incident.length);
      return;
    case Kind::terminate:
      if (client == nullptr || client->process->dead) return;
      judge_.say(incident.client, "gets TERM");
      world_.signal(*client->process, SIGTERM);
      return;
    case Kind::cancel:
    case Kind::force_release: {
      Process& process = world_.scheduler().new_process();
      world_.scheduler().spawn(process, [this, &incident] { operate(incident); });
      return;
    }
    case Kind::foreign: come_as_foreign(incident); return;
  }
}

void Run::operate(const Incident& incident) {
  const auto admin = store::redis::open_admin(redis_at(0));
  const auto name = *store::LockName::from(incident.key);
  const os::CallLimit limit{Deadline::after(base::now(), Millis{5'000})};
  const auto report = admin->inspect(name, limit);
  const auto* seen = std::get_if<store::LockReport>(&report);
  if (seen == nullptr || seen->holders.empty()) return;
  std::vector<store::Token> tokens;
  for (const auto& each : seen->holders) {
    tokens.push_back(store::Token::foreign(each.occupant.token));
  }
  if (incident.kind == Incident::Kind::force_release) {
    const auto removal = admin->force_release(name, tokens, "operator", limit);
    if (!std::holds_alternative<store::Removed>(removal)) return;
  } else {
    const auto asked = admin->ask_to_stop(name, tokens, "cancelled by an operator", limit);
    const auto* count = std::get_if<std::size_t>(&asked);
    if (count == nullptr || *count == 0) return;
  }
  (void)admin->await_last_word(name, {Deadline::after(base::now(), Millis{8'000})});
}

void Run::come_as_foreign(const Incident& incident) {
  Server& server = world_.server(0);
  const auto length = std::to_string(incident.length / ms);
  if (server.down) return;
  const std::string own = foreign_.empty() ? "foreign" : fmt::format("foreign{}", foreign_.size());
  const auto answer = world_.command(server, {"set", incident.key, own, "nx", "px", length});
  if (answer.kind != Reply::Kind::status) return;
  foreign_.push_back(std::make_unique<Job>());
  Job& job = *foreign_.back();
  job.keys = {incident.key};
  job.began = job.asked = world_.now();
  judge_.say(0, "a foreign client has " + incident.key);
  judge_.begins(job);
  world_.scheduler().at(world_.now() + incident.length * 8 / 10, [this, &incident, &job, own] {
    judge_.ends(job);
    const auto value = world_.command(world_.server(0), {"get", incident.key});
    if (value.text == own) (void)world_.command(world_.server(0), {"del", incident.key});
  });
}

}  // namespace

Outcome carry_out(const Plan& plan, const std::shared_ptr<ScriptEngine>& engine,
                  const Sabotage& sabotage, bool tells) {
  return Run{plan, engine, sabotage, tells}();
}

}  // namespace sim
