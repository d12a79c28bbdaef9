// The claims of a run and of `acquire`: modes, times, and options that do not go together.
#include "cmd/claim_options.hpp"

#include <doctest/doctest.h>

#include "surroundings.hpp"

namespace unit::cmd_claim_options {

namespace of = cmd::of;
using base::Millis;
using Words = std::vector<std::string>;
using Kind = store::Mode::Kind;

namespace {

const store::Ttl ttl = *store::Ttl::from(Millis{30'000});

cmd::ClaimPlan plan_of(Words options) {
  options.insert(options.begin(), {"-k", "deploy"});
  return cmd::resolve_claim(settings_of(options), ttl, *store::Label::from("job.sh"));
}

/// The line of a usage error; nothing if there is none.
std::string refusal(const Words& options) {
  const auto [code, line] = refusal_of([&] { (void)plan_of(options); });
  CHECK((code == 0 || code == cmd::ExitCode::usage));
  return line;
}

}  // namespace

TEST_CASE("a claim that says nothing is one attempt at one exclusive lock") {
  const Surroundings around;
  const auto plan = plan_of({});
  CHECK(plan.keys == std::vector{*store::LockName::from("deploy")});
  CHECK(plan.mode == store::Mode{});
  CHECK(plan.ttl.length() == ttl.length());
  CHECK(plan.wait == Millis{0});
  CHECK(plan.label.text() == "job.sh");
  CHECK_FALSE(plan.max_waiters);
  CHECK(plan.sync_replicas == 0);
  CHECK(plan.supersede == cmd::Supersede::nobody);
  CHECK_FALSE(plan.local_gate);
  CHECK(plan.conflict_exit_code == cmd::ExitCode::busy);
  CHECK(plan.server.shown == "redis://127.0.0.1:6379");
}

TEST_CASE("the keys of a claim are sorted, each once, and each is a key") {
  const Surroundings around;
  CHECK(plan_of({"-k", "a", "--key=deploy"}).shown_keys() == "'a', 'deploy'");
  CHECK(refusal({"-k", ""}) == "--key: '' is not valid; expected a key of 1 to 1024 bytes");
  CHECK(refusal({"-k", std::string(1024, 'x')}).empty());
  CHECK(refusal({"-k", std::string(1025, 'x')}).ends_with("a key of 1 to 1024 bytes"));
  CHECK(refusal({"-k", "a\nb"}) ==
        "--key: 'a\\nb' is not valid; expected keys without a newline where there are several");
}

TEST_CASE("a lock is held alone, with other readers, or with so many others") {
  const Surroundings around;
  CHECK(plan_of({"-x"}).mode == store::Mode{});
  CHECK(plan_of({"-s"}).mode == store::Mode{Kind::shared});
  CHECK(plan_of({"--permits", "3"}).mode == store::Mode{Kind::permits, 3});
  CHECK(plan_of({"--permits", "1"}).mode == store::Mode{});  // the same lock as without
  CHECK(plan_of({"--permits", "1000000"}).mode.permits == 1'000'000);
  for (const char* bad : {"0", "1000001", "", "two"}) {
    CHECK(refusal({"--permits", bad}) ==
          fmt::format("--permits: '{}' is not valid; expected a number from 1 to 1000000", bad));
  }
}

TEST_CASE("permits with names are as many as these, in their order") {
  const Surroundings around;
  const auto mode = plan_of({"--one-of", "gpu 1,gpu:0"}).mode;
  CHECK(mode == store::Mode{Kind::permits, 2, {"gpu 1", "gpu:0"}});
  CHECK(mode.name_of(1) == "gpu 1");
  CHECK(mode.name_of(2) == "gpu:0");
  CHECK(mode.name_of(0).empty());
  CHECK(mode.name_of(3).empty());
  CHECK(plan_of({"--one-of", "gpu"}).mode == store::Mode{Kind::permits, 1, {"gpu"}});
  CHECK(plan_of({"--one-of", std::string(64, 'x')}).mode.permits == 1);
  for (const std::string& bad :
       {std::string{}, std::string{","}, std::string{"a,"}, std::string{",a"}, std::string{"a,,b"},
        std::string{"a,b,a"}, std::string{"a\tb"}, std::string{"a\nb"}, std::string{"\xff"},
        std::string(65, 'x')}) {
    CAPTURE(bad);
    CHECK(refusal({"--one-of", bad}).starts_with("--one-of: '"));
    CHECK(refusal({"--one-of", bad}).find("with no name twice") != std::string::npos);
  }
  std::string long_list = "0";
  for (int i = 1; i < 400; ++i) long_list += fmt::format(",{}", i);
  CHECK(long_list.size() > 1024);
  CHECK(refusal({"--one-of", long_list}).starts_with("--one-of: '"));
  for (const char* other : {"-s", "-x", "--permits=2"}) {
    CHECK(refusal({"--one-of", "a,b", other}).starts_with("--one-of cannot be used with"));
  }
  CHECK(refusal({"--one-of", "a,b", "-k", "another"}).starts_with("--one-of names the permits"));
}

TEST_CASE("ways to hold a lock contradict each other, whichever two are named") {
  const Surroundings around;
  const std::string contradiction = "use only one of --exclusive, --shared and --permits";
  CHECK(refusal({"-x", "-s"}) == contradiction);
  CHECK(refusal({"-x", "--permits", "3"}) == contradiction);
  CHECK(refusal({"-s", "--permits", "3"}) == contradiction);
  CHECK(refusal({"-x", "-s", "--permits", "3"}) == contradiction);
  CHECK(refusal({"--permits", "1", "-x"}) == contradiction);  // also where it would be the same
}

TEST_CASE("how long to wait: from the nearest place, without end, or not at all") {
  const Surroundings around;
  CHECK(plan_of({"-w", "10m"}).wait == Millis{600'000});
  CHECK(plan_of({"-w", "forever"}).wait == Millis::max());
  CHECK(refusal({"-w", "soon"}).starts_with("--wait: 'soon' is not valid; expected "));
  CHECK(refusal({"-w", "soon"}).ends_with(", or 'forever'"));
  around.set("RLOCK_WAIT", "5s");
  CHECK(plan_of({}).wait == Millis{5'000});
  CHECK(plan_of({"-w", "1s"}).wait == Millis{1'000});
  CHECK(plan_of({"-n"}).wait == Millis{0});
}

TEST_CASE("--nonblock goes with --wait 0 and contradicts a longer one") {
  const Surroundings around;
  CHECK(plan_of({"-n", "-w", "0"}).wait == Millis{0});
  CHECK(refusal({"-n", "-w", "1s"}) == "--nonblock and --wait contradict each other");
  CHECK(refusal({"-n", "-w", "forever"}) == "--nonblock and --wait contradict each other");
  // A wait for every day is no contradiction.
  (void)around.config("wait = 10m");
  CHECK(plan_of({"-n"}).wait == Millis{0});
}

TEST_CASE("--supersede alone means all; behind a '=', in a variable or a file it says whom") {
  using cmd::Supersede;
  const Surroundings around;
  CHECK(plan_of({"--supersede=all"}).supersede == Supersede::all);
  CHECK(plan_of({"--supersede=waiting"}).supersede == Supersede::waiting);
  CHECK(plan_of({"--supersede=waiting"}).wait == Millis::max());
  CHECK(plan_of({"--supersede=no"}).supersede == Supersede::nobody);
  for (const char* bad : {"", "holder", "All"}) {
    CHECK(refusal({fmt::format("--supersede={}", bad)}) ==
          fmt::format(
              "--supersede: '{}' is not valid; expected all, waiting, yes (the same as all) or no",
              bad));
  }
  CHECK(refusal({"--supersede=waiting", "-n"}).ends_with("it cannot be used with --nonblock"));
  const auto claim = plan_of({"--supersede=waiting"}).claims().front();
  CHECK(claim.supersede == "superseded by " + claim.token.shown());
  CHECK(claim.spare_holders);
  CHECK_FALSE(plan_of({"--supersede"}).claims().front().spare_holders);
  around.set("RLOCK_SUPERSEDE", "waiting");
  CHECK(plan_of({}).supersede == Supersede::waiting);
  CHECK(plan_of({"--supersede"}).supersede == Supersede::all);
  CHECK(plan_of({"--supersede=no"}).supersede == Supersede::nobody);
  around.set("RLOCK_SUPERSEDE", "1");
  CHECK(plan_of({}).supersede == Supersede::all);
  around.set("RLOCK_SUPERSEDE", "off");
  CHECK(plan_of({}).supersede == Supersede::nobody);
  around.set("RLOCK_SUPERSEDE", "");
  (void)around.config("supersede = waiting");
  CHECK(plan_of({}).supersede == Supersede::waiting);
}

TEST_CASE("a reason goes with the claim, as one line, and to superseded runs") {
  const Surroundings around;
  const auto claim = plan_of({"--reason", "the database\nmoves\t", "--supersede"}).claims().front();
  CHECK(claim.reason == "the database moves ");
  CHECK(claim.supersede == "superseded by " + claim.token.shown() + ": the database moves ");
  CHECK(plan_of({}).claims().front().reason.empty());
  CHECK(refusal({"--reason", std::string(201, 'x')}).ends_with("up to 200 bytes"));
  CHECK(refusal({"--reason", "x", "--history", "0"})
            .starts_with("--reason cannot be used with --history 0"));
}

TEST_CASE("--supersede waits without end, unless a time is said, and cannot be told not to wait") {
  const Surroundings around;
  CHECK(plan_of({"--supersede"}).wait == Millis::max());
  CHECK(plan_of({"--supersede"}).supersede == cmd::Supersede::all);
  CHECK(plan_of({"--supersede", "-w", "5s"}).wait == Millis{5'000});
  CHECK(refusal({"--supersede", "-w", "0"}).ends_with("it cannot be used with --wait 0"));
  CHECK(refusal({"--supersede", "-n"}).ends_with("it cannot be used with --nonblock"));
  CHECK(refusal({"--supersede", "-n", "-w", "0"}).ends_with("it cannot be used with --nonblock"));
  around.set("RLOCK_WAIT", "7s");
  CHECK(plan_of({"--supersede"}).wait == Millis{7'000});
  around.set("RLOCK_WAIT", "0");  // says of other runs that they do not wait
  CHECK(plan_of({"--supersede"}).wait == Millis::max());
}

TEST_CASE("numbers of a claim have bounds") {
  const Surroundings around;
  CHECK(plan_of({"--max-waiters", "0"}).max_waiters == 0U);
  CHECK(plan_of({"--max-waiters", "1000000"}).max_waiters == 1'000'000U);
  CHECK(refusal({"--max-waiters", "1000001"}).ends_with("a number from 0 to 1000000"));
  CHECK(plan_of({"--sync-replicas", "1000"}).sync_replicas == 1'000);
  CHECK(refusal({"--sync-replicas", "1001"}).ends_with("a number from 0 to 1000"));
  CHECK(plan_of({"-E", "0"}).conflict_exit_code == 0);
  CHECK(plan_of({"-E", "255"}).conflict_exit_code == 255);
  CHECK(refusal({"-E", "256"}) ==
        "--conflict-exit-code: '256' is not valid; expected a number from 0 to 255");
}

TEST_CASE("a label is the beginning of what was said, and printable") {
  const Surroundings around;
  CHECK(plan_of({"--label", "night batch"}).label.text() == "night batch");
  CHECK(plan_of({"--label", std::string(300, 'x')}).label.text() == std::string(100, 'x'));
  CHECK(plan_of({"--label", std::string(99, 'x') + "\xc3\xbc"}).label.text() ==
        std::string(99, 'x'));  // no half of a letter
  CHECK(refusal({"--label", ""}).starts_with("--label: '' is not valid; expected printable UTF-8"));
  CHECK(refusal({"--label", "a\tb"}).starts_with("--label: 'a\\tb' is not valid; expected "));
  (void)around.config("label = a\x1b");
  const auto [code, line] = refusal_of([] { (void)plan_of({}); });
  CHECK(code == cmd::ExitCode::bad_config);
  CHECK(line.starts_with(around / "conf:1: label: 'a\\x1b' is not valid; expected "));
}

TEST_CASE("an option that a kind of server lacks is refused by its name") {
  const Surroundings around;
  const auto refused = [](Words server, const Words& option) {
    server.insert(server.end(), option.begin(), option.end());
    const std::string line = refusal(server);
    return line.substr(0, line.find(": does not work with"));
  };
  const Words quorum{"-S", "redis://a", "-S", "redis://b", "-S", "redis://c"};
  const Words zookeeper{"-S", "zk://h/locks"};
  const Words etcd{"-S", "etcd://h/locks"};
  const Words directory{"-S", "file:///locks"};
  CHECK(refused(etcd, {"--shared"}).empty());
  CHECK(refused(etcd, {"--permits", "3"}).empty());
  CHECK(refused(etcd, {"--max-waiters", "0"}).empty());
  CHECK(refused(etcd, {"--supersede"}).empty());
  CHECK(refused(etcd, {"--sync-replicas", "1"}) == "--sync-replicas");
  CHECK(refused(etcd, {"--local-gate"}).empty());
  CHECK(refused(quorum, {"--shared"}).empty());
  CHECK(refused(zookeeper, {"--shared"}).empty());
  CHECK(refused(quorum, {"--permits", "3"}) == "--permits");
  CHECK(refused(quorum, {"--permits", "1"}).empty());
  CHECK(refused(zookeeper, {"--permits", "3"}).empty());
  CHECK(refused(zookeeper, {"--one-of", "a,b"}).empty());
  CHECK(refused(directory, {"--permits", "3"}).empty());
  CHECK(refused(quorum, {"--max-waiters", "0"}) == "--max-waiters");
  CHECK(refused(zookeeper, {"--max-waiters", "0"}).empty());
  CHECK(refused(directory, {"--max-waiters", "3"}).empty());
  CHECK(refused(quorum, {"--supersede"}) == "--supersede");
  CHECK(refused(zookeeper, {"--supersede"}).empty());
  CHECK(refused(zookeeper, {"--sync-replicas", "1"}) == "--sync-replicas");
  CHECK(refused(directory, {"--supersede"}).empty());
  CHECK(refused(directory, {"--local-gate"}) == "--local-gate");
  CHECK(refused(quorum, {"--local-gate"}).empty());
  CHECK(refused(directory, {"--sync-replicas", "1"}) == "--sync-replicas");
  CHECK(refused(directory, {"--sync-replicas", "0"}).empty());
  CHECK(refused({}, {"--sync-replicas", "1"}).empty());
}

TEST_CASE("a local gate contradicts what must be seen at the server") {
  const Surroundings around;
  CHECK(plan_of({"--local-gate"}).local_gate);
  CHECK(refusal({"--local-gate", "--supersede"})
            .starts_with("--local-gate cannot be used with --supersede or --max-waiters: "));
  CHECK(refusal({"--local-gate", "--max-waiters", "0"})
            .starts_with("--local-gate cannot be used with --supersede or --max-waiters: "));
  CHECK(refusal({"--local-gate", "--wait", "5s", "--label", "x"}).empty());
}

TEST_CASE("a TTL is the command line's, the table's or none, and within bounds") {
  const Surroundings around;
  const auto length = [](const Words& argv, cmd::Commands command = of::run) {
    const auto found = cmd::ttl_in(settings_of(argv, command));
    return found ? found->length() : Millis{0};
  };
  CHECK(length({}) == Millis{30'000});
  CHECK(length({"-t", "5s"}) == Millis{5'000});
  CHECK(length({}, of::acquire) == Millis{0});
  CHECK(length({"-t", "100ms"}, of::acquire) == Millis{100});
  CHECK(length({"-t", "365d"}) == store::Ttl::longest);
  const auto refused = [&](const Words& argv) {
    return refusal_of([&] { (void)length(argv, of::acquire); });
  };
  CHECK(refused({"-t", "99ms"}).second == "--ttl: '99ms' is not valid; expected 100ms to 365d");
  CHECK(refused({"-t", "99ms"}).first == 64);
  CHECK(refused({"-t", "366d"}).first == 64);
  CHECK(refused({"-t", ""}).second.starts_with("--ttl: '' is not valid; expected "));
  // An empty one is also forgotten in a file, and is not the same as none.
  (void)around.config("ttl =");
  CHECK(refused({}).first == 78);
  CHECK(refused({}).second.starts_with(around / "conf:1: ttl: '' is not valid; expected "));
}

TEST_CASE("a plan's claims have one fresh token and say of each key what is wanted") {
  const Surroundings around;
  const auto one = plan_of({"-s", "-w", "5s", "--max-waiters", "3", "--sync-replicas", "2"});
  const auto alone = one.claims();
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].name == one.keys[0]);
  CHECK(alone[0].ttl.length() == ttl.length());
  CHECK(alone[0].on_busy == store::OnBusy::queue);
  CHECK(alone[0].mode == store::Mode{Kind::shared});
  CHECK(alone[0].max_waiters == 3U);
  CHECK(alone[0].sync_replicas == 2);
  CHECK_FALSE(alone[0].token_stays);
  CHECK(alone[0].supersede.empty());
  CHECK(alone[0].token.parts()->label == "job.sh");
  CHECK(one.claims()[0].token != alone[0].token);

  const auto several = plan_of({"-k", "a"}).claims();
  REQUIRE(several.size() == 2);
  CHECK(several[0].name.text() == "a");
  CHECK(several[0].token == several[1].token);
  for (const auto& each : several) {
    CHECK(each.on_busy == store::OnBusy::give_up);
    CHECK(each.token_stays);
  }
}

TEST_CASE("a superseded run is told by which run") {
  const Surroundings around;
  const auto claim = plan_of({"--supersede"}).claims().front();
  CHECK(claim.on_busy == store::OnBusy::queue);
  CHECK(claim.supersede == "superseded by " + claim.token.shown());
}

TEST_CASE(
    "a plan's store is its server's, and those who wait do so behind a gate if that is wanted") {
  const Surroundings around;
  auto plan = plan_of({"-S", "file://" + around / "locks", "-w", "5s"});
  const store::CallLimit limit{store::Deadline::after(base::now(), Millis{10'000})};
  const auto held = plan.claims().front();
  const auto holder = plan.open_store();
  REQUIRE(std::holds_alternative<store::Granted>(holder->try_acquire(held, limit)));
  CHECK(std::filesystem::exists(around / "locks/deploy"));

  const auto gates = store::local::gates_of(plan.server.shown);
  const auto waits_at_gate = [&] {
    const auto claim = plan.claims().front();
    const auto waiter = plan.open_store();
    CHECK(std::holds_alternative<store::Queued>(waiter->try_acquire(claim, limit)));
    const bool at_gate =
        std::filesystem::exists(gates.path + "/" + *store::local::file_of(claim.name));
    waiter->withdraw(claim, limit);
    return at_gate;
  };
  CHECK_FALSE(waits_at_gate());
  plan.local_gate = true;
  CHECK(waits_at_gate());
  holder->withdraw(held, limit);
  std::filesystem::remove_all(gates.path);
}

}  // namespace unit::cmd_claim_options
