// The one line that says why not, and its exit code.
#include "cmd/report.hpp"

#include <doctest/doctest.h>

#include "cmd/claim_options.hpp"
#include "surroundings.hpp"

namespace unit::cmd_report {

using store::Fault;
using store::Holder;
using Kind = store::Fault::Kind;

namespace {

store::LockName name(std::string_view text) {
  return *store::LockName::from(text);
}

cmd::ClaimPlan plan() {
  cmd::ServerChoice server{*store::parse_server(store::ServerUrl{"redis://h"}), "redis://h",
                           store::ServerUrl{"redis://h"}};
  return {server,
          {name("deploy"), name("a\n")},
          {},
          *store::Ttl::from(base::Millis{1000}),
          base::Millis{2'000},
          *store::Label::from("x"),
          2,
          0,
          cmd::Supersede::nobody,
          false,
          9};
}

const Holder holder{Holder::Kind::holder, "app@h:1/job#0123456789012345678901234567890123456789",
                    base::Millis{12'000}, std::nullopt, 0};

}  // namespace

TEST_CASE("a fault says whether the server was reached, and denied has its own code") {
  const auto code = [](Kind kind) {
    const Said said;
    const int result = cmd::report_fault(plan().server, Fault{kind, "why"});
    return std::pair{result, said.text()};
  };
  CHECK(code(Kind::unreachable) ==
        std::pair{69, std::string{"rlock: cannot reach redis://h: why\n"}});
  CHECK(code(Kind::silent) == std::pair{69, std::string{"rlock: cannot reach redis://h: why\n"}});
  CHECK(code(Kind::unavailable) ==
        std::pair{69, std::string{"rlock: cannot use redis://h: why\n"}});
  CHECK(code(Kind::unusable) == std::pair{69, std::string{"rlock: cannot use redis://h: why\n"}});
  CHECK(code(Kind::misconfigured) ==
        std::pair{78, std::string{"rlock: cannot use redis://h: why\n"}});
  CHECK(code(Kind::denied) == std::pair{77, std::string{"rlock: cannot use redis://h: why\n"}});
}

TEST_CASE("a fault of a server that nobody chose says how to choose one") {
  auto mine = plan().server;
  mine.exported = std::nullopt;
  const Said said;
  CHECK(cmd::report_fault(mine, Fault{Kind::unreachable, "why"}) == 69);
  CHECK(said.text() ==
        "rlock: cannot reach redis://h (the default): why; name your server with RLOCK_SERVER or "
        "--server, or add -S file: for a lock on this host alone\n");
}

TEST_CASE("a lock that was not acquired is said with its holder and what to do") {
  using Why = hold::GaveUp::Why;
  const auto said = [](const hold::NotAcquired& why, int code) {
    const Said all;
    CHECK(cmd::report_not_acquired(plan(), why) == code);
    return all.text();
  };
  CHECK(said(hold::GaveUp{name("deploy"), holder, 0, Why::busy}, 9) ==
        "rlock: 'deploy' is held by app@h:1/job for 12s; to queue for it: --wait 10m, to see more: "
        "rlock inspect deploy\n");
  CHECK(said(hold::GaveUp{name("deploy"), holder, 3, Why::timed_out}, 9) ==
        "rlock: gave up on 'deploy' after 2s: held by app@h:1/job for 12s; 3 waiters were ahead of "
        "you\n");
  CHECK(said(hold::GaveUp{name("deploy"), holder, 0, Why::timed_out}, 9) ==
        "rlock: gave up on 'deploy' after 2s: held by app@h:1/job for 12s; you were next\n");
  CHECK(said(hold::GaveUp{name("deploy"), holder, 3, Why::crowded}, 9) ==
        "rlock: 'deploy' is held by app@h:1/job for 12s, and its queue is full (3 waiting, "
        "--max-waiters 2)\n");
  CHECK(said(hold::GaveUp{name("deploy"), holder, 0, Why::nested}, 9) ==
        "rlock: 'deploy' is held by app@h:1/job for 12s, the run around this command, which would "
        "wait for itself; to run under that lock: --reentrant, with the server named as there\n");
  CHECK(said(hold::Dismissed{name("deploy"), "superseded by b"}, 9) ==
        "rlock: left the queue for 'deploy': superseded by b\n");
  CHECK(said(hold::Interrupted{2}, 130).empty());
  CHECK(said(hold::Interrupted{15}, 143) ==
        "rlock: signal 15 ended the wait for 'deploy', 'a\\n'; nothing ran\n");
  CHECK(said(Fault{Kind::denied, "no"}, 77) == "rlock: cannot use redis://h: no\n");
}

TEST_CASE("a use that does not go together with ours names both") {
  const auto said = [](store::Mode theirs, store::Mode ours = {}) {
    auto mine = plan();
    mine.mode = ours;
    const Said all;
    const hold::Incompatible why{name("deploy"), {theirs, store::Token::foreign("b")}};
    CHECK(cmd::report_not_acquired(mine, why) == 78);
    return all.text();
  };
  CHECK(said({store::Mode::Kind::permits, 3}) ==
        "rlock: 'deploy' is used with --permits 3 by b, but this run says --exclusive; all users "
        "of a "
        "key must agree\n");
  CHECK(said({store::Mode::Kind::shared}, {store::Mode::Kind::permits, 2}) ==
        "rlock: 'deploy' is used as a reader/writer lock by b, but this run says --permits 2; all "
        "users of a key must agree\n");
  CHECK(said({store::Mode::Kind::permits, 3}, {store::Mode::Kind::shared})
            .find("with --permits 3 by b, but this run says --shared; ") != std::string::npos);
}

TEST_CASE("a word of the user's is shown printable, short, and without a URL's secret") {
  CHECK(cmd::shown_word("plain") == "plain");
  CHECK(cmd::shown_word("a\x1b[31m") == "a\\x1b[31m");
  CHECK(cmd::shown_word("redis://u:pw@h/0") == "redis://h/0");
  CHECK(cmd::shown_word(std::string(200, 'x')) == std::string(100, 'x') + "…");
}

TEST_CASE("of a word that is no option only its name is shown") {
  CHECK(cmd::shown_option("--frob") == "--frob");
  CHECK(cmd::shown_option("--frob=secret") == "--frob…");
  CHECK(cmd::shown_option("-Z") == "-Z");
  for (const char* glued : {"-Z5", "-Z_", "-Z{", "-Z\x1b", "-Z@"}) {
    CHECK(cmd::shown_option(glued) == "-Z…");
  }
  CHECK(cmd::shown_option("").empty());
}

TEST_CASE("a usage error has the line that is printed") {
  const auto error = cmd::not_accepted("--ttl", "5x", "a duration");
  CHECK(error.line == "--ttl: '5x' is not valid; expected a duration");
  CHECK(error.code == cmd::ExitCode::usage);
  CHECK(std::string{error.what()} == error.line);
}

TEST_CASE("the keys of a plan are shown quoted, in a row") {
  CHECK(plan().shown_keys() == "'deploy', 'a\\n'");
}

TEST_CASE("keys that go together are sorted, each once, and have no newlines") {
  CHECK(cmd::sorted_keys({name("b"), name("a"), name("b")}) ==
        std::vector<store::LockName>{name("a"), name("b")});
  CHECK(cmd::sorted_keys({name("a\nb")}).size() == 1);
  CHECK_THROWS_AS((void)cmd::sorted_keys({name("a\nb"), name("c")}), cmd::UsageError);
  CHECK_THROWS_AS((void)cmd::key_of("--key", ""), cmd::UsageError);
  const cmd::Settings settings{"inspect", cmd::of::inspect};
  CHECK_THROWS_AS((void)cmd::only_key(settings, {}), cmd::UsageError);
  CHECK_THROWS_AS((void)cmd::only_key(settings, {"a", "b"}), cmd::UsageError);
  CHECK(cmd::only_key(settings, {"a"}) == name("a"));
}

}  // namespace unit::cmd_report
