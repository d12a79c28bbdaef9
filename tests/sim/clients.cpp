#include <fmt/format.h>

#include <algorithm>

#include "base/result.hpp"
#include "run.hpp"
#include "store/quorum/quorum.hpp"
#include "store/redis/redis.hpp"
#include "store/redis/scripts.hpp"

namespace sim {
namespace {

using base::Deadline;
using base::Millis;
namespace scripts = store::redis::scripts;

// All jobs, one after the other, behind all that can go wrong.
constexpr Nanos horizon = 1'200 * s;

std::string path_of(std::size_t server) {
  return "/sim/" + std::to_string(server);
}

}  // namespace

store::RedisServer redis_at(std::size_t server) {
  return {store::RedisServer::Nodes{store::RedisServer::Unix{path_of(server)}}, {}};
}

std::unique_ptr<store::LockStore> Run::open_store() const {
  std::unique_ptr<store::LockStore> opened;
  if (plan_.records) {
    opened = store::records::open_store(records_on(redis_at(0), sabotage_.records));
  } else if (plan_.servers == 1) {
    opened = store::redis::open_store(redis_at(0));
  } else {
    std::vector<std::unique_ptr<store::QuorumNode>> nodes;
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
  world_.set_clocks(plan_.client_clocks);
  for (std::size_t i = 0; i < plan_.servers; ++i) {
    Server& server = world_.add_server(path_of(i));
    if (i < plan_.clocks.size()) world_.step_clock(server, plan_.clocks[i]);
    // Most servers know the scripts already.
    if (world_.random().chance(10)) continue;
    for (const auto* each : {&scripts::enter, &scripts::leave, &scripts::renew, &scripts::raise}) {
      server.redis.load_script(each->sha1, each->body);
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
  outcome.steps = world_.scheduler().steps();
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
  constexpr Millis longest_answer{5'000};
  hold::Wanted wanted{{}, wish.wait.value_or(Millis::max()), grace, longest_answer};
  const auto token = store::Token::mint(*store::Label::from("job"));
  for (const std::string& key : wish.keys) {
    store::Claim claim{*store::LockName::from(key),
                       token,
                       *store::Ttl::from(wish.ttl),
                       wish.wait == Millis{0} ? store::OnBusy::give_up : store::OnBusy::queue,
                       wish.mode,
                       wish.max_waiters};
    claim.token_stays = wish.keys.size() > 1;
    claim.history = plan_.history;
    claim.slot = wish.slot;
    if (wish.supersedes) claim.supersede = fmt::format("superseded by client {}", number);
    wanted.claims.push_back(std::move(claim));
  }
  os::Signals signals;
  client.takes_signals = true;
  client.terminated_at = -1;
  judge_.say(number, "wants " + fmt::format("{}", fmt::join(wish.keys, ", ")));
  judge_.wants(number);
  const Nanos began = world_.now();
  const Nanos lost = client.lost_to_pauses;
  hold::InterruptionBySignals interruption{signals};
  auto had = hold::acquire([this] { return open_store(); }, wanted, interruption);
  if (wish.wait) {
    // The last question and the last word: of several servers several, of each lock one.
    const auto locks = static_cast<Nanos>(wish.keys.size());
    const Nanos goodbye = plan_.is_calm() && locks == 1 ? 100 * ms : (4 + 5 * locks) * s;
    const Nanos longest = nanos(*wish.wait) + goodbye + client.lost_to_pauses - lost;
    if (world_.now() - began > longest) {
      throw Violation{fmt::format("client {} waited for {} ms in place of {}", number,
                                  (world_.now() - began) / ms, wish.wait->count())};
    }
  }
  const bool obeys = client.terminated_at < 0 || judge_.is_unwell(number) || !plan_.is_calm();
  if (!obeys && world_.now() - client.terminated_at > 200 * ms) {
    throw Violation{fmt::format("client {} waits on for {} ms after TERM", number,
                                (world_.now() - client.terminated_at) / ms)};
  }
  if (auto* held = std::get_if<hold::HeldLocks>(&had)) {
    if (wish.in_steps) return work_in_steps(client, wish, std::move(*held));
    work(client, wish, std::move(*held), signals);
  } else {
    not_acquired(client, wish, std::get<hold::NotAcquired>(had), began);
  }
  client.takes_signals = false;
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
            judge_.gave_up_waiting(number, gave_up.name.text());
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
        if (!plan_.stops_holders()) {
          throw Violation{"nobody sends anybody away here"};
        }
      },
      [&](const hold::Incompatible& it) {
        judge_.say(number, "goes, as others use it in another way");
        using ModeKind = store::Mode::Kind;
        const bool some_permits = it.conflict.mode.kind == ModeKind::permits;
        const bool differs =
            wish.mode.kind == ModeKind::permits ? it.conflict.mode != wish.mode : some_permits;
        if (!differs) throw Violation{"a conflict of modes that go together"};
      },
      [&](const hold::AlreadyDone& found) {
        if (!wish.slot) throw Violation{"it had no slot, which is done"};
        judge_.found_done(number, found.name.text(), *wish.slot, found.done);
      },
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
        if (world_.now() - began < nanos(*wish.wait)) {
          throw Violation{"a fault ends a wait that is not over: " + fault.why};
        }
      });
}

Outcome carry_out(const Plan& plan, const std::shared_ptr<ScriptEngine>& engine,
                  const Sabotage& sabotage, bool tells) {
  return Run{plan, engine, sabotage, tells}();
}

}  // namespace sim
