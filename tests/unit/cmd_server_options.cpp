// Which server, which password, how much is said; and what is asked twice.
#include "cmd/server_options.hpp"

#include <doctest/doctest.h>

#include "cmd/log_output.hpp"
#include "surroundings.hpp"

namespace unit::cmd_server_options {

using base::Millis;
using base::log::Level;
using Words = std::vector<std::string>;

namespace {

cmd::ServerChoice choice_of(const Words& argv) {
  const auto settings = settings_of(argv);
  cmd::set_up_log(settings);
  return cmd::resolve_server(settings);
}

Refusal refusal(const Words& argv) {
  return refusal_of([&] { (void)choice_of(argv); });
}

std::string password_of(const cmd::ServerChoice& choice) {
  return std::get<store::RedisServer>(choice.spec).access.login.password.reveal();
}

}  // namespace

TEST_CASE("without a word there is a server, but none that a job is told of") {
  const Surroundings around;
  const auto choice = choice_of({});
  CHECK(choice.shown == "redis://127.0.0.1:6379");
  CHECK_FALSE(choice.exported);
  CHECK(choice.longest_answer == Millis{5'000});
}

TEST_CASE("one server, or the quorum of all that one place names") {
  const Surroundings around;
  const auto nodes = [](const Words& argv) {
    const auto choice = choice_of(argv);
    const auto* quorum = std::get_if<store::Quorum>(&choice.spec);
    return quorum == nullptr ? 1 : quorum->servers.size();
  };
  CHECK(nodes({"-S", "redis://a"}) == 1);
  CHECK(nodes({"-S", "redis://a", "-S", "redis://b", "-S", "redis://c"}) == 3);
  CHECK(nodes({"-S", "redis://a redis://b redis://c"}) == 3);
  CHECK(choice_of({"-S", "redis://a", "-S", "redis://b", "-S", "redis://c"}).exported->reveal() ==
        "redis://a redis://b redis://c");
  (void)around.config("server = redis://a\nserver = redis://b\nserver = redis://c\n");
  CHECK(nodes({}) == 3);
  around.set("RLOCK_SERVER", "redis://d");
  CHECK(nodes({}) == 1);
  CHECK(choice_of({"-S", "redis://e"}).shown == "redis://e");
}

TEST_CASE("a URL that is none is said with what is accepted, without its secret") {
  const Surroundings around;
  const auto [code, line] = refusal({"-S", "http://u:hunter2@h"});
  CHECK(code == cmd::ExitCode::bad_config);
  CHECK(line.starts_with("--server: 'http://"));
  CHECK(line.find("(unknown scheme); try redis://HOST, or file: for ") != std::string::npos);
  CHECK(line.find("hunter2") == std::string::npos);
  CHECK(refusal({"-S", ""}).first == cmd::ExitCode::bad_config);
  around.set("RLOCK_SERVER", "h:6379");
  CHECK(refusal({}).second.starts_with("RLOCK_SERVER: '"));
}

TEST_CASE("an invalid URL gets one line of advice, and not the grammar") {
  const Surroundings around;
  const auto line = [](const std::string& url) { return refusal({"-S", url}).second; };
  CHECK(line("file:locks").ends_with("(no '/' after the scheme); try file:///DIRECTORY/NAME"));
  CHECK(line("unix:locks").ends_with("(no '/' after the scheme); try unix:///DIRECTORY/NAME"));
  CHECK(line("file:locks").find("'file:locks'") != std::string::npos);
  CHECK(line("h").ends_with("(no scheme); try redis://h"));
  CHECK(line("redis:h").ends_with("(no '/' after the scheme); try redis://h"));
  CHECK(line("etcds:h:2379").ends_with("try etcds://h:2379"));
  CHECK(line("redis:u:secret@h").find("secret") == std::string::npos);
  CHECK(line("redis://h/x").ends_with("; rlock-servers(7) has the forms of URLs"));
  CHECK(line("http://h").size() < 200);
}

TEST_CASE("the source of a password is known, and told if a server refuses it") {
  const Surroundings around;
  around.set("REDISCLI_AUTH", "variable");
  CHECK(choice_of({"-S", "redis://h"}).password_source == "REDISCLI_AUTH");
  CHECK(choice_of({"-S", "redis://:url@h"}).password_source == "the URL in --server");
  const auto file = around.write("password", "first line\n");
  const auto choice = choice_of({"-S", "redis://h", "--password-file", file});
  CHECK(choice.password_source == "the file '" + file + "' (--password-file)");
  CHECK(choice.source_if_refused("the server says: WRONGPASS x") ==
        "; the password came from the file '" + file + "' (--password-file)");
  CHECK(choice.source_if_refused("the server says: NOPERM x").empty());
  around.set("REDISCLI_AUTH", "");
  CHECK(choice_of({"-S", "redis://h"}).source_if_refused("WRONGPASS") == "; no password was given");
}

TEST_CASE("servers that are no quorum are a usage error, in a config file a mistake of the file") {
  const Surroundings around;
  const auto [code, line] = refusal({"-S", "redis://u:hunter2@a", "-S", "redis://b"});
  CHECK(code == cmd::ExitCode::usage);
  CHECK(
      line.starts_with("--server: 'redis://a redis://b' is not valid (an even number of servers"));
  CHECK(line.ends_with("expected one server, or an odd number of independent Redis servers"));
  CHECK(refusal({"-S", "redis://a redis://b file:///x"}).second.find("only Redis") !=
        std::string::npos);
  (void)around.config("server = redis://a\nserver = redis://b\n");
  CHECK(refusal({}).first == cmd::ExitCode::bad_config);
  CHECK(refusal({}).second.starts_with(around /
                                       "conf:1: server: 'redis://a redis://b' is not valid"));
  around.set("RLOCK_SERVER", "redis://c redis://d");
  CHECK(refusal({}).first == cmd::ExitCode::usage);
}

TEST_CASE("a job is told the URL that was chosen, a config file's without its password") {
  const Surroundings around;
  const std::string url = "redis://u:hunter2@h/1";
  CHECK(choice_of({"-S", url}).exported->reveal() == url);
  CHECK(choice_of({"-S", url}).shown == "redis://h/1");
  around.set("RLOCK_SERVER", url);
  CHECK(choice_of({}).exported->reveal() == url);
  around.unset("RLOCK_SERVER");
  (void)around.config("server = " + url);
  CHECK(choice_of({}).exported->reveal() == "redis://h/1");
  CHECK(password_of(choice_of({})) == "hunter2");
}

TEST_CASE("a job's rlock finds the password of the config file's URL again, and only of that one") {
  const Surroundings around;
  (void)around.config("server = redis://u:hunter2@h/1");
  around.set("RLOCK_SERVER", "redis://h/1");  // as the job is told
  CHECK(password_of(choice_of({})) == "hunter2");
  CHECK(choice_of({}).exported->reveal() == "redis://h/1");
  around.set("RLOCK_SERVER", "redis://h/2");
  CHECK(password_of(choice_of({})).empty());
  CHECK(password_of(choice_of({"-S", "redis://h/1"})).empty());  // said for itself
}

TEST_CASE("a password is the URL's, the file's, or that of redis-cli's variable") {
  const Surroundings around;
  CHECK(password_of(choice_of({"-S", "redis://h"})).empty());
  around.set("REDISCLI_AUTH", "variable");
  CHECK(password_of(choice_of({"-S", "redis://h"})) == "variable");
  const Words with_file{"-S", "redis://h", "--password-file",
                        around.write("password", "first line\nsecond\n")};
  CHECK(password_of(choice_of(with_file)) == "first line");
  (void)around.write("password", "dos\r\n");
  CHECK(password_of(choice_of(with_file)) == "dos");
  (void)around.write("password", "no end");
  CHECK(password_of(choice_of(with_file)) == "no end");
  CHECK(password_of(choice_of({"-S", "redis://:url@h", "--password-file", around / "password"})) ==
        "url");
  CHECK(choice_of(with_file).exported->reveal() == "redis://h");
}

TEST_CASE("a password file that is not there, or that others may read, is refused") {
  const Surroundings around;
  const std::string absent = around / "absent";
  CHECK(refusal({"--password-file", absent}).first == cmd::ExitCode::bad_config);
  CHECK(refusal({"--password-file", absent}).second ==
        "--password-file: cannot use '" + absent + "': No such file or directory");
  const std::string open = around.write("open", "hunter2", 0644);
  CHECK(refusal({"--password-file", open}).second ==
        "--password-file: cannot use '" + open + "': others may read it: chmod go= " + open);
  (void)around.config("password-file = " + absent);
  CHECK(refusal({}).second.starts_with(around / "conf:1: password-file: cannot use '"));
}

TEST_CASE("how long an answer may take has bounds") {
  const Surroundings around;
  CHECK(choice_of({"--connect-timeout", "100ms"}).longest_answer == Millis{100});
  CHECK(choice_of({"--connect-timeout", "1m"}).longest_answer == Millis{60'000});
  for (const char* bad : {"99ms", "60001ms", "0"}) {
    CHECK(refusal({"--connect-timeout", bad}).second ==
          fmt::format("--connect-timeout: '{}' is not valid; expected 100ms to 1m", bad));
  }
  CHECK(refusal({"--connect-timeout", "soon"}).first == cmd::ExitCode::usage);
  const auto limit = choice_of({"--connect-timeout", "1m"}).limit();
  const auto left = limit.until.left(base::now());
  CHECK((left > Millis{30'000} && left <= Millis{60'000}));
}

TEST_CASE("quiet and verbose set how much is said, and the nearer of two counts") {
  const Surroundings around;
  const auto level = [&](const Words& argv) {
    base::log::set_level(Level::normal);
    (void)choice_of(argv);
    return base::log::level();
  };
  CHECK(level({}) == Level::normal);
  CHECK(level({"-q"}) == Level::quiet);
  CHECK(level({"-v"}) == Level::verbose);
  (void)around.config("quiet = yes");
  CHECK(level({}) == Level::quiet);
  CHECK(level({"-v"}) == Level::verbose);
  around.set("RLOCK_VERBOSE", "yes");
  CHECK(level({}) == Level::verbose);
  CHECK(level({"-q"}) == Level::quiet);
  around.set("RLOCK_VERBOSE", "no");
  CHECK(level({}) == Level::quiet);
}

TEST_CASE("quiet and verbose of the same place contradict each other") {
  const Surroundings around;
  CHECK(refusal({"-qv"}) == Refusal{64, "--quiet and --verbose contradict each other"});
  (void)around.config("verbose = on\nquiet = on\n");
  CHECK(refusal({}) == Refusal{78, around / "conf:2: quiet and " + around / "conf:1: verbose" +
                                       " contradict each other"});
  // Of two files the user's goes before the system's; here both words are the user's.
  around.unset("RLOCK_CONFIG");
  (void)around.write(".config/rlock/rlock.conf", "verbose = on\nquiet = on\n");
  CHECK(refusal({}).first == cmd::ExitCode::bad_config);
}

TEST_CASE("before anything else a variable that nothing reads is worth a line") {
  const Surroundings around;
  around.set("RLOCK_TLL", "5s");
  const Said said;
  (void)choice_of({});
  CHECK(said.text().find("did you mean RLOCK_TTL?") != std::string::npos);
}

TEST_CASE("a server that was not chosen is said where no person looks on") {
  const Surroundings around;
  const auto warned = [](const Words& argv) {
    const auto choice = choice_of(argv);
    const Said said;
    cmd::warn_of_default_server(choice);
    return said.text();
  };
  CHECK(warned({"-S", "redis://h"}).empty());
  const std::string line =
      "rlock: using the default server redis://127.0.0.1:6379; set RLOCK_SERVER or --server to one "
      "that all hosts share\n";
  CHECK(warned({}) == (::isatty(STDERR_FILENO) == 1 ? "" : line));
}

TEST_CASE("a question that was cut off is asked once more, any other answer counts") {
  const Surroundings around;
  using Kind = store::Fault::Kind;
  const auto asks = [&](const std::vector<store::Result<int>>& answers) {
    std::size_t asked = 0;
    const auto answer = choice_of({"--connect-timeout", "1m"}).ask([&](const os::CallLimit&) {
      return answers.at(asked++);
    });
    return std::pair{asked, answer ? std::to_string(*answer) : answer.error().why};
  };
  using Outcome = std::pair<std::size_t, std::string>;
  CHECK(asks({7}) == Outcome{1, "7"});
  const store::Fault silent{Kind::silent, "cut off"};
  CHECK(asks({silent, 7}) == Outcome{2, "7"});
  CHECK(asks({silent, silent}) == Outcome{2, "cut off"});
  CHECK(asks({silent, store::Fault{Kind::denied, "no"}}) == Outcome{2, "no"});
  CHECK(asks({store::Fault{Kind::unreachable, "away"}}) == Outcome{1, "away"});
}

TEST_CASE("a question whose time is up is not asked again, and the fault says how long it had") {
  const Surroundings around;
  std::size_t asked = 0;
  const auto answer =
      choice_of({"--connect-timeout", "100ms"}).ask([&](const os::CallLimit& limit) {
        ++asked;
        while (!limit.until.passed(base::now())) ::usleep(1'000);
        return store::Result<int>{store::Fault{store::Fault::Kind::silent, "no answer"}};
      });
  CHECK(asked == 1);
  CHECK(answer.error().why == "no answer (100ms)");
}

TEST_CASE("whether a token holds a lock is asked at its server") {
  const Surroundings around;
  const auto choice = choice_of({"-S", "file://" + around / "locks"});
  const auto name = *store::LockName::from("deploy");
  const auto token = store::Token::mint(*store::Label::from("x"));
  const auto store = store::open(choice.spec);
  const auto is_ours = [&] {
    return std::holds_alternative<store::StillOurs>(choice.standing_of(*store, name, token));
  };
  CHECK_FALSE(is_ours());
  const store::Claim claim{name, token, *store::Ttl::from(Millis{1'000}), store::OnBusy::give_up};
  REQUIRE(std::holds_alternative<store::Granted>(store->try_acquire(claim, choice.limit())));
  CHECK(is_ours());
  store->withdraw(claim, choice.limit());
  CHECK_FALSE(is_ours());
}

}  // namespace unit::cmd_server_options
