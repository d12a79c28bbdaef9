// Random schedules of several claims on a server in memory that loses answers and ends sessions.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "node_server.hpp"
#include "store/rules/modes.hpp"
#include "store/sessions/queue.hpp"
#include "store/sessions/store.hpp"

namespace unit::sessions_claims {

namespace {

using namespace store;
using base::Millis;
using Fate = fake::NodeServer::Fate;

CallLimit soon() {
  return {Deadline::after(base::now(), Millis{10'000})};
}
/// A moment that has passed: a look, without a wait.
CallLimit at_once() {
  return {Deadline::at(base::now())};
}

struct Client {
  enum class Phase { asking, waiting, holding, robbed, over };

  explicit Client(Claim what) : claim{std::move(what)} {}

  Claim claim;
  std::weak_ptr<fake::Session> session{};
  std::unique_ptr<LockStore> store{};
  std::unique_ptr<Listener> listener{};
  Phase phase = Phase::asking;
  bool asked_again = false;
  bool was_asked = false;
  std::optional<Lease> lease{};
  bool has_ended = false;  // its job did, and the server said so
  bool is_busy = false;    // a call of it is under way
  // Of a claim that supersedes: the nodes that were in the queue when it first asked.
  std::optional<std::vector<std::string>> older{};
  bool has_superseded = false;
  bool is_superseded = false;              // and was told, or will be
  std::optional<unsigned> cancelled_in{};  // the session in which it waited when it was
};

/// One schedule, by its seed. A violation is a text; empty: there is none.
class Schedule {
 public:
  explicit Schedule(unsigned seed) : random_{seed} {
    server_.forgets_changes = chance(2);
    faulty_ = below(4) * 4;
    family_ = below(5);
    is_supersession_ = chance(2);
    if (chance(5)) slot_ = Slot::from("s", 0);
    server_.fate = [this] {
      // So much that the moments between two requests of ours, by our own clock, do not matter.
      server_.now_ms += 1'000;
      meanwhile();
      if (rests_ || below(100) >= faulty_) return Fate::answered;
      if (chance(3)) return Fate::repeated;
      return chance(2) ? Fate::answer_lost : Fate::never_arrived;
    };
    server_.between = [this] { meanwhile(); };
  }

  std::string run() {
    const unsigned steps = 40 + below(80);
    for (unsigned i = 0; i < steps && violation_.empty(); ++i) {
      if (clients_.size() < 9 && chance(6)) arrive();
      if (chance(12)) incident();
      if (!clients_.empty()) step(*clients_[below(clients_.size())]);
    }
    come_to_rest();
    if (violation_.empty()) judge_memory();
    return violation_;
  }

 private:
  using Phase = Client::Phase;

  unsigned below(std::size_t bound) { return static_cast<unsigned>(random_() % bound); }
  bool chance(unsigned one_in) { return below(one_in) == 0; }
  void violated(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }

  Mode some_mode() {
    switch (family_) {
      case 0: return {};
      case 1: return {chance(3) ? Mode::Kind::exclusive : Mode::Kind::shared};
      case 2: return {Mode::Kind::permits, 3};
      case 3: return {Mode::Kind::permits, 2, {"a", "b"}};
      default: return chance(4) ? Mode{} : Mode{Mode::Kind::permits, 2};  // they exclude each other
    }
  }

  void arrive() {
    const auto number = clients_.size() + 1;
    Claim claim{
        *LockName::from("k"), Token::foreign(fmt::format("app@h:1/c{}#{:040}", number, number)),
        *Ttl::from(Millis{30'000}), chance(6) ? OnBusy::give_up : OnBusy::queue, some_mode()};
    if (!chance(5) || slot_) claim.history = Millis{100'000'000};
    claim.slot = slot_;
    if (chance(4)) claim.max_waiters = below(3);
    if (is_supersession_ && chance(3)) {
      claim.supersede = fmt::format("superseded by c{}", number);
      claim.spare_holders = chance(2);
      claim.on_busy = OnBusy::queue;
    }
    auto& client = clients_.emplace_back(std::make_unique<Client>(std::move(claim)));
    client->store = sessions::open_store(fake::opener(server_, &client->session));
  }

  // ---- the steps of a client, which does as hold/acquire does ----

  /// Somebody else does something between two rounds of a call.
  void meanwhile() {
    if (is_meanwhile_ || clients_.empty() || !chance(3)) return;
    Client& client = *clients_[below(clients_.size())];
    if (client.is_busy) return;
    is_meanwhile_ = true;
    step(client);
    is_meanwhile_ = false;
  }

  void step(Client& client) {
    client.is_busy = true;
    act(client);
    client.is_busy = false;
  }

  void act(Client& client) {
    switch (client.phase) {
      case Phase::asking: return ask(client);
      case Phase::waiting: return wait(client);
      case Phase::holding: return chance(3) || rests_ ? end_job(client) : renew(client);
      case Phase::robbed: return leave(client);
      case Phase::over: return;
    }
  }

  void ask(Client& client) {
    const bool supersedes = !client.claim.supersede.empty() && !client.has_superseded;
    const auto before = supersedes ? line() : Line{};
    if (supersedes && !client.older) {
      client.older.emplace();
      for (const auto& [name, each] : before) client.older->push_back(name);
    }
    auto attempt = client.store->try_acquire(client.claim, soon());
    if (client.phase == Phase::over) return;  // killed meanwhile
    const bool came =
        std::holds_alternative<Granted>(attempt) || std::holds_alternative<Queued>(attempt);
    if (supersedes && came) judge_supersession(client, before);
    const auto* queued = std::get_if<Queued>(&attempt);
    const bool is_first = !std::exchange(client.was_asked, true);
    if (queued != nullptr && is_first && client.claim.max_waiters && queued->ahead > 0 &&
        queued->ahead >= *client.claim.max_waiters) {
      violated("too many wait");
    }
    if (auto* granted = std::get_if<Granted>(&attempt)) return accept(client, granted->lease);
    if (queued != nullptr) {
      client.phase = Phase::waiting;
    } else if (const auto* fault = std::get_if<Fault>(&attempt)) {
      const bool passes =
          fault->kind == Fault::Kind::silent || fault->kind == Fault::Kind::unavailable;
      if (!passes) violated("a fault: " + fault->why);
      const bool gives_up = client.claim.on_busy == OnBusy::give_up;
      if (gives_up && std::exchange(client.asked_again, true)) withdraw(client);
    } else {
      withdraw(client);
    }
  }

  void wait(Client& client) {
    if (!rests_ && chance(15)) return withdraw(client);
    auto turn = client.store->await_turn(client.claim, at_once());
    if (std::holds_alternative<ClaimAgain>(turn)) client.phase = Phase::asking;
    if (std::holds_alternative<Notice>(turn)) withdraw(client);
    if (std::holds_alternative<Fault>(turn)) violated("a wait ends with a fault");
  }

  void accept(Client& client, const Lease& lease) {
    judge_grant(client, lease);
    client.lease = lease;
    client.phase = Phase::holding;
    client.listener = client.store->listener(client.claim.name, client.claim.token);
  }

  void renew(Client& client) {
    const auto renewal =
        client.store->renew(client.claim.name, client.claim.token, client.claim.ttl, soon());
    if (std::holds_alternative<NotOurs>(renewal)) violated("a holder's lock is gone");
    const auto* fault = std::get_if<Fault>(&renewal);
    if (fault != nullptr && fault->kind != Fault::Kind::silent) violated("a refresh is refused");
    client.listener->listen(soon());
    const auto notice = client.listener->take();
    if (notice && notice->kind == Notice::Kind::stop) end_job(client);
  }

  void end_job(Client& client) {
    client.phase = Phase::over;
    Parting parting;
    parting.history = client.claim.history;
    parting.end = RunEnd{{RunOutcome::Kind::exited, 0}, ""};
    if (chance(4)) parting.min_hold = Millis{1'000 + below(30'000)};
    if (slot_) {
      const auto end = chance(2) ? Parting::SlotEnd::done : Parting::SlotEnd::open;
      parting.slot = {*slot_, client.lease->attempt, client.lease->failures, end};
    }
    for (int tries = 0; tries < 3; ++tries) {
      const auto released =
          client.store->release(client.claim.name, client.claim.token, parting, soon());
      client.has_ended = std::holds_alternative<Released>(released);
      if (!std::holds_alternative<Fault>(released)) break;
    }
    leave(client);
  }

  void withdraw(Client& client) {
    client.phase = Phase::over;
    client.store->withdraw(client.claim, soon());
    leave(client);
  }
  void leave(Client& client) {
    client.listener.reset();
    client.store.reset();
    client.phase = Phase::over;
  }

  // ---- the incidents ----

  void incident() {
    if (clients_.empty()) return;
    Client& client = *clients_[below(clients_.size())];
    const auto session = client.session.lock();
    switch (below(4)) {
      case 0:  // its session ends; a holder's job has been stopped by then
        if (!session) return;
        server_.expire(session->id());
        if (client.phase == Phase::holding) leave(client);
        return;
      case 1:  // its process is killed
        if (!session) return;
        session->kill();
        orphans_.push_back(session->id());
        return leave(client);
      case 2:
        if (!orphans_.empty()) server_.expire(orphans_[below(orphans_.size())]);
        return;
      default: return operate(client);
    }
  }

  /// Somebody takes its lock away, or asks it to stop.
  void operate(Client& client) {
    const auto admin = sessions::open_admin(fake::opener(server_));
    const std::vector<Token> whom{client.claim.token};
    if (chance(2)) {
      const auto asked = admin->ask_to_stop(client.claim.name, whom, "cancelled by ops", soon());
      const auto session = client.session.lock();
      const bool waits = client.phase == Phase::waiting && session && has_node(client);
      if (asked && *asked > 0 && waits) client.cancelled_in = session->id();
      return;
    }
    client.cancelled_in.reset();  // with its node, it may not hear of that
    is_meanwhile_ = true;         // nobody else does something: a holder is robbed only afterwards
    (void)admin->force_release(client.claim.name, whom, "ops", soon());
    is_meanwhile_ = false;
    for (auto& each : clients_) {
      if (each->phase == Phase::holding && !has_node(*each)) each->phase = Phase::robbed;
    }
  }

  // ---- the judge ----

  using Line = std::vector<std::pair<std::string, Client*>>;
  [[nodiscard]] Line line() const {
    Line line;
    for (const auto& name : server_.below("/locks/k", true).names) {
      const auto& text = server_.nodes.at("/locks/k/" + name).node.text;
      const auto token = sessions::text_in(text).token;
      const auto found = std::find_if(clients_.begin(), clients_.end(),
                                      [&](const auto& each) { return each->claim.token == token; });
      if (found != clients_.end()) line.emplace_back(name, found->get());
    }
    return line;
  }
  [[nodiscard]] bool has_node(const Client& client) const {
    const auto all = line();
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& each) { return each.second == &client; });
  }

  [[nodiscard]] static bool lives(const Client& client) {
    const auto session = client.session.lock();
    return session && !session->expired();
  }

  [[nodiscard]] bool was_told(const Client& client) const {
    const auto found = server_.nodes.find("/locks/k/superseded");
    return found != server_.nodes.end() &&
           sessions::superseded_in(found->second.node.text, sessions::nonce_of(client.claim.token));
  }

  /// All that were before the claim, and had not taken the lock, have been told to go; the holders
  /// as well, unless they are spared.
  void judge_supersession(Client& client, const Line& before) {
    const auto now = line();
    const auto own = std::find_if(now.begin(), now.end(),
                                  [&](const auto& each) { return each.second == &client; });
    const bool is_dismissed =
        was_told(client) || own == now.end() ||
        sessions::text_in(server_.nodes.at("/locks/k/" + own->first).node.text).stop;
    if (is_dismissed) return;
    client.has_superseded = true;
    const auto& older = *client.older;
    for (const auto& [name, each] : before) {
      if (each == &client) break;
      if (std::find(older.begin(), older.end(), name) == older.end()) continue;
      const auto found = server_.nodes.find("/locks/k/" + name);
      const bool wants = each->phase == Phase::asking || each->phase == Phase::waiting;
      if (found == server_.nodes.end()) {
        if (was_told(*each)) each->is_superseded = true;
        if (wants && lives(*each) && !was_told(*each)) violated("removed, and not told");
        continue;
      }
      const auto text = sessions::text_in(found->second.node.text);
      const bool is_spared = client.claim.spare_holders && !text.waits;
      // A call that is under way may have taken the lock already: then it hears as a holder.
      if (text.stop && wants && !each->is_busy) each->is_superseded = true;
      if (text.waits && !text.stop) violated("a waiter is not superseded");
      if (!text.stop && !is_spared && !text.is_kept) violated("a holder is not superseded");
    }
  }

  void judge_grant(const Client& client, const Lease& lease) {
    if (client.is_superseded) violated("a superseded waiter has the lock");
    const auto session = client.session.lock();
    if (session && client.cancelled_in == session->id())
      violated("a cancelled waiter has the lock");
    const Mode& mode = client.claim.mode;
    rules::Modes others;
    for (const auto& each : clients_) {
      if (each->phase != Phase::holding) continue;
      others.push_back(&each->claim.mode);
      if (lease.permit > 0 && each->lease->permit == lease.permit) violated("a permit twice");
    }
    if (!rules::has_room(others, mode)) violated("two holders");
    if (lease.permit > mode.permits) violated("a permit too high");
    if ((mode.kind == Mode::Kind::permits) != (lease.permit > 0)) violated("no permit");
    if (lease.resource != mode.name_of(lease.permit)) violated("another permit's name");
    if (mode.kind == Mode::Kind::exclusive && lease.fence <= highest_fence_) {
      violated("a fence that is not higher");
    }
    highest_fence_ = std::max(highest_fence_, lease.fence);
    rules::Modes before;
    for (const auto& [name, each] : line()) {
      if (each == &client) break;
      before.push_back(&each->claim.mode);
    }
    if (!rules::has_room(before, mode)) violated("it was not its turn");
  }

  /// While those that hold go on, each of the others has come as far as it can: none of them waits
  /// that has nobody to wait for.
  void settle() {
    is_meanwhile_ = true;      // nobody else does something
    server_.now_ms += 60'000;  // no --min-hold ends in the middle
    server_.end_overdue();
    for (int rounds = 0; rounds < 20 && violation_.empty(); ++rounds) {
      for (auto& each : clients_) {
        if (each->phase != Phase::holding) step(*each);
      }
    }
    is_meanwhile_ = false;
    const auto queue = sessions::queue_of(server_.below("/locks/k", true).names);
    for (const auto& each : clients_) {
      if (each->phase != Phase::waiting) continue;
      const auto at = sessions::position_of(queue, each->claim.token);
      if (!at) violated("a waiter has no node");
      if (at && sessions::watched_by(queue, *at).empty()) violated("a waiter waits for nobody");
    }
  }

  void come_to_rest() {
    rests_ = true;
    for (const unsigned each : orphans_) server_.expire(each);
    settle();
    const auto is_over = [](const auto& each) { return each->phase == Phase::over; };
    for (int rounds = 0; rounds < 100 && violation_.empty(); ++rounds) {
      if (std::all_of(clients_.begin(), clients_.end(), is_over)) break;
      server_.now_ms += 1'000;
      server_.end_overdue();
      for (auto& each : clients_) step(*each);
    }
    if (!std::all_of(clients_.begin(), clients_.end(), is_over)) {
      violated("a waiter's turn never comes");
    }
    server_.now_ms += 60'000;  // as long as --min-hold, and longer
    server_.end_overdue();
  }

  void judge_memory() {
    if (!line().empty()) violated("a node is left");
    const auto admin = sessions::open_admin(fake::opener(server_));
    const auto report = admin->inspect(*LockName::from("k"), soon());
    if (!report) return violated("no report");
    for (const auto& each : clients_) {
      if (!each->has_ended || each->claim.history == Millis{0}) continue;
      const auto& runs = report->runs;
      const auto is_its = [&](const Run& run) { return run.token == each->claim.token; };
      const auto run = std::find_if(runs.begin(), runs.end(), is_its);
      if (run == runs.end()) return violated("a run is not remembered");
      if (run->outcome.kind != RunOutcome::Kind::exited) violated("a run is remembered as lost");
      if (run->fence != each->lease->fence) violated("a run is remembered with another fence");
    }
  }

  std::mt19937 random_;
  fake::NodeServer server_{};
  unsigned faulty_ = 0;  // rounds of a hundred
  unsigned family_ = 0;
  bool is_supersession_ = false;
  bool is_meanwhile_ = false;
  std::optional<Slot> slot_{};
  std::vector<std::unique_ptr<Client>> clients_{};
  std::vector<unsigned> orphans_{};  // sessions whose processes were killed
  bool rests_ = false;               // faults and incidents have ended
  Fence highest_fence_ = 0;
  std::string violation_{};
};

Claim claim_of(unsigned number) {
  Claim claim{*LockName::from("k"),
              Token::foreign(fmt::format("app@h:1/c{}#{:040}", number, number)),
              *Ttl::from(Millis{30'000}), OnBusy::queue};
  claim.history = Millis{3'600'000};
  return claim;
}

Parting ended(const Claim& claim) {
  Parting parting;
  parting.history = claim.history;
  parting.end = RunEnd{{RunOutcome::Kind::exited, 0}, ""};
  return parting;
}

}  // namespace

TEST_CASE(
    "a grant after the session of an unheard one has ended is remembered with its own fence") {
  fake::NodeServer server;
  server.forgets_changes = true;
  std::weak_ptr<fake::Session> session;
  const auto store = sessions::open_store(fake::opener(server, &session));
  const Claim claim = claim_of(1);
  server.fates = {Fate::answered, Fate::answer_lost};
  REQUIRE(std::holds_alternative<Fault>(store->try_acquire(claim, soon())));
  server.expire(session.lock()->id());
  server.fates = {Fate::answered, Fate::never_arrived};  // the removal of the run that never was
  const auto attempt = store->try_acquire(claim, soon());
  REQUIRE(std::holds_alternative<Granted>(attempt));
  const Fence fence = std::get<Granted>(attempt).lease.fence;
  CHECK(std::holds_alternative<Released>(
      store->release(claim.name, claim.token, ended(claim), soon())));
  const auto report = sessions::open_admin(fake::opener(server))->inspect(claim.name, soon());
  REQUIRE(report);
  REQUIRE(report->runs.size() == 1);
  CHECK(report->runs.front().fence == fence);
  CHECK(report->runs.front().outcome.kind == RunOutcome::Kind::exited);
}

TEST_CASE("a grant whose slot the holder before has removed creates it anew") {
  fake::NodeServer server;
  const auto holder = sessions::open_store(fake::opener(server));
  const auto waiter = sessions::open_store(fake::opener(server));
  Claim first = claim_of(1);
  Claim second = claim_of(2);
  first.slot = second.slot = Slot::from("s", 0);
  REQUIRE(std::holds_alternative<Granted>(holder->try_acquire(first, soon())));
  REQUIRE(std::holds_alternative<Queued>(waiter->try_acquire(second, soon())));
  holder->withdraw(first, soon());
  server.fates = {Fate::never_arrived};  // its look at the slot
  CHECK(std::holds_alternative<ClaimAgain>(waiter->await_turn(second, at_once())));
  const auto attempt = waiter->try_acquire(second, soon());
  REQUIRE(std::holds_alternative<Granted>(attempt));
  CHECK(std::get<Granted>(attempt).lease.attempt == 1);
}

TEST_CASE("a claim that asks again supersedes nobody that came after it") {
  fake::NodeServer server;
  const auto open = [&] { return sessions::open_store(fake::opener(server)); };
  const auto holder = open();
  const auto older = open();
  const auto between = open();
  const auto newest = open();
  Claim last = claim_of(4);
  last.supersede = "superseded by c4";
  last.spare_holders = true;
  REQUIRE(std::holds_alternative<Granted>(holder->try_acquire(claim_of(1), soon())));
  REQUIRE(std::holds_alternative<Queued>(older->try_acquire(claim_of(2), soon())));
  server.now_ms += 60'000;
  // From here on the server's clock goes as ours.
  const auto began = base::now();
  const auto began_ms = server.now_ms;
  const auto pass = [&] {
    std::this_thread::sleep_for(Millis{20});
    server.now_ms = began_ms + std::chrono::duration_cast<Millis>(base::now() - began).count();
  };
  server.fates = {Fate::answered, Fate::never_arrived};
  REQUIRE(std::holds_alternative<Fault>(newest->try_acquire(last, soon())));
  pass();
  REQUIRE(std::holds_alternative<Queued>(between->try_acquire(claim_of(3), soon())));
  pass();
  REQUIRE(std::holds_alternative<Queued>(newest->try_acquire(last, soon())));
  // The one before it has gone.
  CHECK(std::holds_alternative<ClaimAgain>(between->await_turn(claim_of(3), at_once())));
  CHECK(std::holds_alternative<Queued>(between->try_acquire(claim_of(3), soon())));
  CHECK(std::holds_alternative<StillWaiting>(between->await_turn(claim_of(3), at_once())));
  REQUIRE(std::holds_alternative<ClaimAgain>(older->await_turn(claim_of(2), at_once())));
  REQUIRE(std::holds_alternative<Queued>(older->try_acquire(claim_of(2), soon())));
  const auto turn = older->await_turn(claim_of(2), at_once());
  REQUIRE(std::holds_alternative<Notice>(turn));
  CHECK(std::get<Notice>(turn).why == "superseded by c4");
}

TEST_CASE("a claim whose node is made twice hears that the first one was superseded") {
  fake::NodeServer server;
  const auto open = [&] { return sessions::open_store(fake::opener(server)); };
  const auto holder = open();
  const auto older = open();
  const auto newest = open();
  Claim last = claim_of(3);
  last.supersede = "superseded by c3";
  last.spare_holders = true;
  REQUIRE(std::holds_alternative<Granted>(holder->try_acquire(claim_of(1), soon())));
  server.fates = {Fate::answered, Fate::repeated};
  server.between = [&] {
    server.now_ms += 1'000;
    CHECK(std::holds_alternative<Queued>(newest->try_acquire(last, soon())));
  };
  (void)older->try_acquire(claim_of(2), soon());
  const auto turn = older->await_turn(claim_of(2), at_once());
  REQUIRE(std::holds_alternative<Notice>(turn));
  CHECK(std::get<Notice>(turn).why == "superseded by c3");
}

TEST_CASE("where watches tell nothing, a waiter looks by itself") {
  fake::NodeServer server;
  server.is_deaf = true;
  const auto open = [&] { return sessions::open_store(fake::opener(server)); };
  const auto holder = open();
  const auto first = open();
  const auto second = open();
  REQUIRE(std::holds_alternative<Granted>(holder->try_acquire(claim_of(1), soon())));
  REQUIRE(std::holds_alternative<Queued>(first->try_acquire(claim_of(2), soon())));
  REQUIRE(std::holds_alternative<Queued>(second->try_acquire(claim_of(3), soon())));
  const auto admin = sessions::open_admin(fake::opener(server));
  CHECK(admin->ask_to_stop(*LockName::from("k"), {claim_of(3).token}, "ops", soon()));
  CHECK(std::holds_alternative<Notice>(second->await_turn(claim_of(3), soon())));
  CHECK(std::holds_alternative<Released>(
      holder->release(*LockName::from("k"), claim_of(1).token, ended(claim_of(1)), soon())));
  CHECK(std::holds_alternative<StillWaiting>(first->await_turn(claim_of(2), at_once())));
  CHECK(std::holds_alternative<ClaimAgain>(first->await_turn(claim_of(2), soon())));
  CHECK(std::holds_alternative<Granted>(first->try_acquire(claim_of(2), soon())));
}

TEST_CASE("another recipe's node is waited for whatever the mode, and not written to") {
  for (const std::string text : {"", "192.168.0.1"}) {
    fake::NodeServer server;
    fake::Session other{server};
    sessions::Round round;
    round.change.create(sessions::Transaction::Kind::queue, "/locks/k/lock-", text);
    const auto made = other.ask(round, soon()).change;
    REQUIRE(made);
    const std::string node = made->made.front().path;
    Claim claim = claim_of(1);
    claim.mode = {Mode::Kind::permits, 2};
    claim.supersede = "superseded by c1";
    const auto store = sessions::open_store(fake::opener(server));
    const auto attempt = store->try_acquire(claim, soon());
    REQUIRE(std::holds_alternative<Queued>(attempt));
    const auto& holder = std::get<Queued>(attempt).holder;
    REQUIRE(holder);
    CHECK(holder->token == text);
    CHECK((holder->kind == Holder::Kind::foreign) == text.empty());
    CHECK(server.nodes.at(node).node.text == text);
    sessions::Round removal;
    removal.change.erase(node);
    CHECK(other.ask(removal, soon()).change);
    CHECK(std::holds_alternative<ClaimAgain>(store->await_turn(claim, at_once())));
    CHECK(std::holds_alternative<Granted>(store->try_acquire(claim, soon())));
  }
}

TEST_CASE("force-release of several holders hears of each one's end") {
  fake::NodeServer server;
  std::vector<std::unique_ptr<LockStore>> stores;
  std::vector<std::unique_ptr<Listener>> listeners;
  std::vector<Token> tokens;
  for (unsigned number = 1; number < 4; ++number) {
    Claim reader = claim_of(number);
    reader.mode.kind = Mode::Kind::shared;
    tokens.push_back(reader.token);
    stores.push_back(sessions::open_store(fake::opener(server)));
    REQUIRE(std::holds_alternative<Granted>(stores.back()->try_acquire(reader, soon())));
    listeners.push_back(stores.back()->listener(reader.name, reader.token));
    listeners.back()->listen(soon());
  }
  const auto admin = sessions::open_admin(fake::opener(server));
  const LockName name = claim_of(1).name;
  CHECK(admin->force_release(name, tokens, "ops", soon()));
  CHECK(admin->await_last_word(name, at_once()) == LastWord::silence);
  for (std::size_t i = 0; i < 2; ++i) {
    listeners[i]->take();
    listeners[i]->listen(soon());
    const auto notice = listeners[i]->take();
    REQUIRE(notice);
    stores[i]->confirm_stopped(name, *notice, soon());
    CHECK(admin->await_last_word(name, at_once()) == LastWord::stopped);
  }
  CHECK(admin->await_last_word(name, at_once()) == LastWord::silence);
}

TEST_CASE("a release that is asked for twice is one, whatever has become of the slot") {
  fake::NodeServer server;
  const auto holder = sessions::open_store(fake::opener(server));
  const auto spare = sessions::open_store(fake::opener(server));
  Claim first = claim_of(1);
  Claim second = claim_of(2);
  first.slot = second.slot = Slot::from("s", 1);
  const auto attempt = holder->try_acquire(first, soon());
  REQUIRE(std::holds_alternative<Granted>(attempt));
  REQUIRE(std::holds_alternative<Queued>(spare->try_acquire(second, soon())));
  Parting parting = ended(first);
  parting.end = RunEnd{{RunOutcome::Kind::exited, 3}, ""};
  parting.slot = {*first.slot, 1, 0, Parting::SlotEnd::failed};
  server.fates = {Fate::repeated};
  server.between = [&] {
    CHECK(std::holds_alternative<ClaimAgain>(spare->await_turn(second, at_once())));
    CHECK(std::holds_alternative<Granted>(spare->try_acquire(second, soon())));
  };
  CHECK(
      std::holds_alternative<Released>(holder->release(first.name, first.token, parting, soon())));
}

TEST_CASE("thousands of waiters are superseded, in several transactions") {
  fake::NodeServer server;
  fake::Session crowd{server};
  const auto holder = sessions::open_store(fake::opener(server));
  REQUIRE(std::holds_alternative<Granted>(holder->try_acquire(claim_of(1), soon())));
  for (unsigned number = 2; number < 1302; ++number) {
    sessions::NodeText text{claim_of(number).token};
    text.waits = true;
    sessions::Round round;
    round.change.create(sessions::Transaction::Kind::queue,
                        "/locks/k/" + sessions::prefix_of(text.token, {}), text_of(text));
    REQUIRE(crowd.ask(round, soon()).change);
  }
  const auto newest = sessions::open_store(fake::opener(server));
  Claim last = claim_of(2000);
  last.supersede = "superseded by c2000";
  const auto attempt = newest->try_acquire(last, soon());
  REQUIRE(std::holds_alternative<Queued>(attempt));
  CHECK(std::get<Queued>(attempt).ahead == 0);
  const auto& note = server.nodes.at("/locks/k/superseded").node.text;
  CHECK(sessions::superseded_in(note, sessions::nonce_of(claim_of(2).token)));
  CHECK(sessions::superseded_in(note, sessions::nonce_of(claim_of(1301).token)));
}

TEST_CASE("--min-hold keeps a lock beyond the end of its session, and no longer") {
  fake::NodeServer server;
  const Claim claim = claim_of(1);
  Claim next = claim_of(2);
  next.supersede = "superseded by c2";
  auto store = sessions::open_store(fake::opener(server));
  const auto waiter = sessions::open_store(fake::opener(server));
  const auto admin = sessions::open_admin(fake::opener(server));
  REQUIRE(std::holds_alternative<Granted>(store->try_acquire(claim, soon())));
  Parting parting = ended(claim);
  parting.min_hold = Millis{60'000};
  REQUIRE(
      std::holds_alternative<Released>(store->release(claim.name, claim.token, parting, soon())));
  store.reset();
  const auto report = admin->inspect(claim.name, soon());
  REQUIRE(report);
  REQUIRE(report->holders.size() == 1);
  CHECK(report->holders.front().holder.kind == Holder::Kind::kept);
  CHECK(report->runs.front().outcome.kind == RunOutcome::Kind::exited);
  const auto attempt = waiter->try_acquire(next, soon());
  REQUIRE(std::holds_alternative<Queued>(attempt));
  CHECK(std::get<Queued>(attempt).holder->kind == Holder::Kind::kept);
  server.now_ms += 59'000;
  server.end_overdue();
  CHECK(std::holds_alternative<StillWaiting>(waiter->await_turn(next, at_once())));
  server.now_ms += 1'000;
  server.end_overdue();
  CHECK(std::holds_alternative<ClaimAgain>(waiter->await_turn(next, at_once())));
  CHECK(std::holds_alternative<Granted>(waiter->try_acquire(next, soon())));
}

TEST_CASE("a job that took as long as --min-hold ends the lock at once") {
  fake::NodeServer server;
  const auto store = sessions::open_store(fake::opener(server));
  const Claim claim = claim_of(1);
  REQUIRE(std::holds_alternative<Granted>(store->try_acquire(claim, soon())));
  std::this_thread::sleep_for(Millis{3});
  Parting parting = ended(claim);
  parting.min_hold = Millis{2};
  REQUIRE(
      std::holds_alternative<Released>(store->release(claim.name, claim.token, parting, soon())));
  CHECK(server.below("/locks/k", true).names.empty());
}

TEST_CASE("a step's lock outlives its process, and others refresh, check and release it") {
  fake::NodeServer server;
  std::weak_ptr<fake::Session> session;
  Claim claim = claim_of(1);
  claim.outlives = true;
  auto first = sessions::open_store(fake::opener(server, &session));
  const auto attempt = first->try_acquire(claim, soon());
  REQUIRE(std::holds_alternative<Granted>(attempt));
  const auto fence = std::get<Granted>(attempt).lease.fence;
  const auto owner = session.lock()->id();
  first.reset();
  const auto step = [&] { return sessions::open_store(fake::opener(server)); };
  const Token other = claim_of(2).token;
  CHECK(std::holds_alternative<NotOurs>(step()->renew(claim.name, other, claim.ttl, soon())));
  CHECK(std::holds_alternative<Elsewhere>(step()->check(claim.name, other, soon())));
  CHECK(std::holds_alternative<NotOurs>(step()->release(claim.name, other, ended(claim), soon())));
  REQUIRE(
      std::holds_alternative<Renewed>(step()->renew(claim.name, claim.token, claim.ttl, soon())));
  server.expire(owner);  // which no longer ends it
  server.now_ms += claim.ttl.length().count() - 1'000;
  const auto standing = step()->check(claim.name, claim.token, soon());
  REQUIRE(std::holds_alternative<StillOurs>(standing));
  CHECK(std::get<StillOurs>(standing).fence == fence);
  const auto left = std::get<StillOurs>(standing).until.left(base::now());
  CHECK(left > Millis{0});
  CHECK(left <= Millis{1'000});
  // An operator's word does not get lost.
  const auto admin = sessions::open_admin(fake::opener(server));
  CHECK(admin->ask_to_stop(claim.name, {claim.token}, "cancelled by ops", soon()).value_or(0) == 1);
  REQUIRE(
      std::holds_alternative<Renewed>(step()->renew(claim.name, claim.token, claim.ttl, soon())));
  REQUIRE(std::holds_alternative<Released>(
      step()->release(claim.name, claim.token, ended(claim), soon())));
  const auto report = admin->inspect(claim.name, soon());
  REQUIRE(report);
  CHECK(report->holders.empty());
  REQUIRE(report->runs.size() == 1);
  CHECK(report->runs.front().fence == fence);
  CHECK(report->runs.front().outcome.kind == RunOutcome::Kind::exited);
}

TEST_CASE("a step with a long TTL waits in a short session, and holds for all of the TTL") {
  fake::NodeServer server;
  std::vector<Ttl> sessions_opened;
  const auto open = fake::opener(server);
  Claim claim = claim_of(1);
  claim.outlives = true;
  claim.ttl = *Ttl::from(Millis{600'000});
  auto step = sessions::open_store([&](Ttl ttl, const CallLimit& limit) {
    sessions_opened.push_back(ttl);
    return open(ttl, limit);
  });
  const auto attempt = step->try_acquire(claim, soon());
  REQUIRE(std::holds_alternative<Granted>(attempt));
  CHECK(std::get<Granted>(attempt).lease.ttl.length() == Millis{600'000});
  REQUIRE(sessions_opened.size() == 1);
  CHECK(sessions_opened.front().length() == Millis{30'000});
  step.reset();
  server.now_ms += 590'000;
  const auto later = sessions::open_store(fake::opener(server));
  CHECK(std::holds_alternative<StillOurs>(later->check(claim.name, claim.token, soon())));
  server.now_ms += 20'000;
  CHECK(std::holds_alternative<Elsewhere>(later->check(claim.name, claim.token, soon())));
}

TEST_CASE("a step's lock that nobody refreshes ends, and its run is lost") {
  fake::NodeServer server;
  Claim claim = claim_of(1);
  claim.outlives = true;
  REQUIRE(std::holds_alternative<Granted>(
      sessions::open_store(fake::opener(server))->try_acquire(claim, soon())));
  const auto step = sessions::open_store(fake::opener(server));
  REQUIRE(std::holds_alternative<Renewed>(step->renew(claim.name, claim.token, claim.ttl, soon())));
  server.now_ms += claim.ttl.length().count();
  CHECK(std::holds_alternative<NotOurs>(step->renew(claim.name, claim.token, claim.ttl, soon())));
  const auto report = sessions::open_admin(fake::opener(server))->inspect(claim.name, soon());
  REQUIRE(report);
  CHECK(report->holders.empty());
  REQUIRE(report->runs.size() == 1);
  CHECK(report->runs.front().outcome.kind == RunOutcome::Kind::lost);
}

TEST_CASE("a running process refreshes its lock itself") {
  fake::NodeServer server;
  const Claim claim = claim_of(1);
  const auto holder = sessions::open_store(fake::opener(server));
  REQUIRE(std::holds_alternative<Granted>(holder->try_acquire(claim, soon())));
  const auto step = sessions::open_store(fake::opener(server));
  const auto renewal = step->renew(claim.name, claim.token, claim.ttl, soon());
  REQUIRE(std::holds_alternative<Fault>(renewal));
  CHECK(std::get<Fault>(renewal).why.find("refreshes it itself") != std::string::npos);
  const auto standing = step->check(claim.name, claim.token, soon());
  REQUIRE(std::holds_alternative<StillOurs>(standing));
  CHECK(std::get<StillOurs>(standing).until == Deadline::never());
  // With its token it can be given back; the holder hears of that.
  const auto listener = holder->listener(claim.name, claim.token);
  listener->listen(soon());
  REQUIRE(std::holds_alternative<Released>(
      step->release(claim.name, claim.token, ended(claim), soon())));
  (void)listener->take();
  listener->listen(soon());
  const auto notice = listener->take();
  REQUIRE(notice);
  CHECK(notice->kind == Notice::Kind::lost);
}

TEST_CASE("a permit's number is chosen only behind those that come first") {
  fake::NodeServer server;
  fake::Session other{server};
  Claim claim = claim_of(2);
  claim.mode = {Mode::Kind::permits, 3};
  const Token token = claim_of(1).token;
  sessions::Round round;
  round.change.create(sessions::Transaction::Kind::queue,
                      "/locks/k/" + sessions::prefix_of(token, claim.mode), token.text());
  const auto made = other.ask(round, soon());
  REQUIRE(made.change);
  const auto store = sessions::open_store(fake::opener(server));
  REQUIRE(std::holds_alternative<Queued>(store->try_acquire(claim, soon())));
  sessions::Round number;
  number.change.set(made.change->made.front().path, token.text() + "\npermit 2",
                    *made.change->made.front().stat);
  REQUIRE(other.ask(number, soon()).change);
  REQUIRE(std::holds_alternative<ClaimAgain>(store->await_turn(claim, at_once())));
  const auto attempt = store->try_acquire(claim, soon());
  REQUIRE(std::holds_alternative<Granted>(attempt));
  CHECK(std::get<Granted>(attempt).lease.permit == 1);
}

TEST_CASE("the waiter before takes its permit while we look: we are the first one now") {
  fake::NodeServer server;
  std::vector<std::unique_ptr<LockStore>> stores;
  for (int i = 0; i < 4; ++i) stores.push_back(sessions::open_store(fake::opener(server)));
  const auto claim = [](unsigned number) {
    Claim one = claim_of(number);
    one.mode = {Mode::Kind::permits, 2};
    return one;
  };
  const auto asks = [&](unsigned number) {
    return stores[number - 1]->try_acquire(claim(number), soon());
  };
  const auto ends = [&](unsigned number) {
    const Claim one = claim(number);
    return stores[number - 1]->release(one.name, one.token, ended(one), soon());
  };
  REQUIRE(std::holds_alternative<Granted>(asks(1)));
  REQUIRE(std::holds_alternative<Granted>(asks(2)));
  REQUIRE(std::holds_alternative<Queued>(asks(3)));
  // Before its last question, where it watches the third one's node.
  int round = 0;
  server.fate = [&] {
    if (++round != 3) return Fate::answered;
    CHECK(std::holds_alternative<Released>(ends(1)));
    CHECK(std::holds_alternative<ClaimAgain>(stores[2]->await_turn(claim(3), at_once())));
    CHECK(std::holds_alternative<Granted>(asks(3)));
    return Fate::answered;
  };
  REQUIRE(std::holds_alternative<Queued>(asks(4)));
  CHECK(round > 3);
  server.fate = nullptr;
  CHECK(std::holds_alternative<ClaimAgain>(stores[3]->await_turn(claim(4), at_once())));
  REQUIRE(std::holds_alternative<Queued>(asks(4)));
  CHECK(std::holds_alternative<Released>(ends(2)));
  CHECK(std::holds_alternative<ClaimAgain>(stores[3]->await_turn(claim(4), at_once())));
  CHECK(std::holds_alternative<Granted>(asks(4)));
}

TEST_CASE("random schedules of claims, lost answers and ended sessions break no promise") {
  // More, or others: RLOCK_SCHEDULES=20000, RLOCK_FIRST_SCHEDULE=7.
  const auto number_in = [](const char* variable, unsigned otherwise) {
    const char* const text = std::getenv(variable);
    return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : otherwise;
  };
  const unsigned first = number_in("RLOCK_FIRST_SCHEDULE", 1);
  const unsigned count = number_in("RLOCK_SCHEDULES", 300);
  for (unsigned seed = first; seed < first + count; ++seed) {
    const auto violation = Schedule{seed}.run();
    CAPTURE(seed);
    CHECK(violation == "");
  }
}

}  // namespace unit::sessions_claims
