#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "run.hpp"
#include "store/quorum/quorum.hpp"
#include "store/redis/redis.hpp"

namespace sim {
namespace {

constexpr Nanos guardian_needs = 2 * ms;

}  // namespace

using base::Deadline;
using base::Millis;

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
      judge_.paused(incident.client, world_.now() + incident.length);
      client->lost_to_pauses += incident.length;
      world_.scheduler().stop(*client->process, world_.now() + incident.length);
      return;
    case Kind::terminate:
      if (client == nullptr || client->process->dead) return;
      judge_.say(incident.client, "gets TERM");
      if (client->takes_signals && client->terminated_at < 0) client->terminated_at = world_.now();
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

std::unique_ptr<store::LockAdmin> Run::open_admin() const {
  if (plan_.records) return store::records::open_admin(records_on(redis_at(0), sabotage_.records));
  if (plan_.servers == 1) return store::redis::open_admin(redis_at(0));
  std::vector<std::unique_ptr<store::LockAdmin>> nodes;
  for (std::size_t i = 0; i < plan_.servers; ++i) {
    nodes.push_back(store::redis::open_admin(redis_at(i)));
  }
  return store::quorum::open_admin(std::move(nodes));
}

void Run::operate(const Incident& incident) {
  const auto admin = open_admin();
  const auto name = *store::LockName::from(incident.key);
  const os::CallLimit limit{Deadline::after(base::now(), Millis{5'000})};
  const auto report = admin->inspect(name, limit);
  if (!report || report->holders.empty()) return;
  std::vector<store::Token> tokens;
  for (const auto& each : report->holders) {
    tokens.push_back(store::Token::foreign(each.holder.token));
  }
  // Two operators may come at the same moment: each has words of its own.
  const auto why = fmt::format("cancelled by operator {}", &incident - plan_.incidents.data());
  if (incident.kind == Incident::Kind::force_release) {
    const auto removal = admin->force_release(name, tokens, "operator", limit);
    if (!removal || !std::holds_alternative<store::Removed>(*removal)) return;
    judge_.took_away(incident.key, tokens);
  } else {
    const auto asked = admin->ask_to_stop(name, tokens, why, limit);
    if (!asked || *asked == 0) return;
  }
  const auto word = admin->await_last_word(name, {Deadline::after(base::now(), Millis{8'000})});
  if (word == store::LastWord::silence && plan_.is_calm()) judge_.heard_no_last_word(why);
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
    if (value.text != own) return;
    (void)world_.command(world_.server(0), {"del", incident.key});
    judge_.foreign_gone(incident.key);
  });
}

}  // namespace sim
