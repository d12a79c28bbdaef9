// The picture of rlock log --timeline.
#include "cmd/timeline.hpp"

#include <doctest/doctest.h>

#include <ctime>

#include "base/text.hpp"
#include "lines.hpp"
#include "surroundings.hpp"

namespace unit::cmd_timeline {

using Kind = store::RunOutcome::Kind;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

/// Times of the axis are those of this zone.
class Zone : Surroundings {
 public:
  explicit Zone(const char* name) {
    set("TZ", name);
    ::tzset();
  }
};

store::Token by(const std::string& host, const std::string& label) {
  return store::Token::foreign("ci@" + host + ":7/" + label + "#" + std::string(40, '0'));
}

store::Run run(const std::string& host, minutes granted_ago, minutes waited,
               std::optional<minutes> held, store::RunOutcome outcome) {
  return {by(host, "deploy"), 1, granted_ago, waited, held, outcome, ""};
}

store::LockReport lock(const std::string& key, std::vector<store::Run> runs,
                       std::vector<store::Waiter> waiters = {}) {
  return {*store::LockName::from(key), std::nullopt,   {}, std::nullopt,
          std::move(waiters),          std::move(runs)};
}

/// 2026-11-26 15:00:00 UTC.
constexpr std::chrono::sys_time<base::Millis> now{seconds{1'795'705'200}};

cmd::Canvas canvas(std::size_t columns, cmd::Charset charset = cmd::Charset::utf8) {
  return {columns, charset, false, now};
}

/// Five deploys one after the other, of which the third is lost, and one that waits.
store::LockReport a_busy_afternoon() {
  return lock("deploy",
              {run("web4", minutes{10}, minutes{25}, std::nullopt, {Kind::running}),
               run("web3", minutes{20}, minutes{30}, std::nullopt, {Kind::lost}),
               run("web2", minutes{40}, minutes{15}, minutes{20}, {Kind::exited, 3}),
               run("web1", minutes{60}, minutes{0}, minutes{20}, {Kind::exited, 0})},
              {{by("web5", "deploy"), {}, minutes{5}}});
}

}  // namespace

TEST_CASE("a timeline at 80 columns: waits, runs, and how they ended") {
  const Zone utc{"UTC"};
  CHECK(cmd::timeline({a_busy_afternoon()}, canvas(80)) ==
        "HOLDER       |14:00 |14:10  |14:20 |14:30 |14:40  |14:50   WAITED  HELD  OUTCOME\n"
        "deploy\n"
        "4 runs held it 83 % of 1h  longest run 20m  longest wait 30m  1 waiting now\n"
        "web1/deploy  ███████████████                                  0ms   20m  exit 0\n"
        "web2/deploy      ░░░░░░░░░░░█████████████x                    15m   20m  exit 3\n"
        "web3/deploy         ░░░░░░░░░░░░░░░░░░░░░░?                   30m     -  lost\n"
        "web4/deploy                    ░░░░░░░░░░░░░░░░░░░██████>     25m   10m  running\n"
        "web5/deploy                                          ░░░>      5m     -  waiting\n"
        "from 2026-11-26 14:00:00  to 15:00:00\n"
        "█ held  ░ waited  x failed  ? lost  > goes on\n");
}

TEST_CASE("a timeline at 40 columns has no lengths, for the bars show them") {
  const Zone utc{"UTC"};
  CHECK(cmd::timeline({a_busy_afternoon()}, canvas(40)) ==
        "HOLDER       |14:00   |14:30     OUTCOME\n"
        "deploy\n"
        "4 runs held it 83 % of 1h\n"
        "longest run 20m  longest wait 30m\n"
        "1 waiting now\n"
        "web1/deploy  ██████              exit 0\n"
        "web2/deploy    ░░░░█████x        exit 3\n"
        "web3/deploy     ░░░░░░░░░?       lost\n"
        "web4/deploy          ░░░░░░░██>  running\n"
        "web5/deploy                   >  waiting\n"
        "from 2026-11-26 14:00:00  to 15:00:00\n"
        "█ held  ░ waited  x failed  ? lost\n"
        "> goes on\n");
}

TEST_CASE("a timeline where the locale is not UTF-8 is plain ASCII") {
  const Zone utc{"UTC"};
  CHECK(cmd::timeline({a_busy_afternoon()}, canvas(80, cmd::Charset::ascii)) ==
        "HOLDER       |14:00 |14:10  |14:20 |14:30 |14:40  |14:50   WAITED  HELD  OUTCOME\n"
        "deploy\n"
        "4 runs held it 83 % of 1h  longest run 20m  longest wait 30m  1 waiting now\n"
        "web1/deploy  ###############                                  0ms   20m  exit 0\n"
        "web2/deploy      ...........#############x                    15m   20m  exit 3\n"
        "web3/deploy         ......................?                   30m     -  lost\n"
        "web4/deploy                    ...................######>     25m   10m  running\n"
        "web5/deploy                                          ...>      5m     -  waiting\n"
        "from 2026-11-26 14:00:00  to 15:00:00\n"
        "# held  . waited  x failed  ? lost  > goes on\n");
  auto named = a_busy_afternoon();
  named.name = *store::LockName::from("gr\xc3\xbcn\xe6\x95\xb0");
  named.runs[0].token = by("\xe6\x95\xb0\xe6\x8d\xae.example.org", "a-job-with-a-very-long-name");
  for (const char c : cmd::timeline({named}, canvas(40, cmd::Charset::ascii))) {
    CHECK(static_cast<unsigned char>(c) < 0x80);
  }
}

TEST_CASE("no line of a timeline is longer than the terminal is wide") {
  const Zone utc{"UTC"};
  auto report = a_busy_afternoon();
  report.name = *store::LockName::from(std::string(100, 'k'));
  report.runs[1].token = by("runner-17.eu-central-1.example.org", "deploy-to-production.sh");
  for (const auto charset : {cmd::Charset::ascii, cmd::Charset::utf8}) {
    for (std::size_t columns = 30; columns <= 200; ++columns) {
      CAPTURE(columns);
      for (const auto& line : lines_of(cmd::timeline({report}, canvas(columns, charset)))) {
        CAPTURE(line);
        CHECK(base::columns_of(line) <= columns);
      }
    }
  }
}

TEST_CASE("shared holders overlap; of one that follows another no cell does") {
  const Zone utc{"UTC"};
  const auto shared =
      lock("report", {run("b", minutes{30}, minutes{0}, minutes{20}, {Kind::exited, 0}),
                      run("a", minutes{40}, minutes{0}, minutes{20}, {Kind::exited, 0})});
  CHECK(cmd::timeline({shared}, canvas(60, cmd::Charset::ascii)) ==
        "HOLDER    |14:20   |14:30   |14:40     WAITED  HELD  OUTCOME\n"
        "report\n"
        "2 runs held it 100 % of 30m  longest run 20m\n"
        "a/deploy  ##################              0ms   20m  exit 0\n"
        "b/deploy           ##################     0ms   20m  exit 0\n"
        "from 2026-11-26 14:20:00  to 14:50:00\n"
        "# held\n");
  // A minute less or more for each: whatever falls between two cells.
  for (int length = 1; length < 40; ++length) {
    CAPTURE(length);
    const auto in_turn = lock(
        "k", {run("b", minutes{40 - length}, minutes{0}, minutes{40 - length}, {Kind::exited, 0}),
              run("a", minutes{40}, minutes{0}, minutes{length}, {Kind::exited, 0})});
    const auto lines = lines_of(cmd::timeline({in_turn}, canvas(80, cmd::Charset::ascii)));
    CHECK(lines[3].rfind('#') + 1 == lines[4].find('#'));
  }
}

TEST_CASE("several locks share the axis, and a short run is seen on a long one") {
  const Zone zone{"Europe/Berlin"};
  const auto nightly =
      lock("nightly", {run("db1", minutes{1440 * 2}, minutes{0}, minutes{1}, {Kind::exited, 0})});
  CHECK(cmd::timeline({a_busy_afternoon(), nightly}, canvas(72, cmd::Charset::ascii)) ==
        "HOLDER             |11-25   |12:00   |11-26        WAITED  HELD  OUTCOME\n"
        "deploy\n"
        "4 runs held it 2 % of 2d  longest run 20m  longest wait 30m\n"
        "1 waiting now\n"
        "web1/deploy                                     #     0ms   20m  exit 0\n"
        "web2/deploy                                     x     15m   20m  exit 3\n"
        "web3/deploy                                     ?     30m     -  lost\n"
        "web4/deploy                                     >     25m   10m  running\n"
        "web5/deploy                                     >      5m     -  waiting\n"
        "nightly\n"
        "1 run held it <1 % of 2d  longest run 1m\n"
        "db1/deploy   |                                        0ms    1m  exit 0\n"
        "from 2026-11-24 16:00:00  to 2026-11-26 16:00:00\n"
        "# held  . waited  | briefly  x failed  ? lost  > goes on\n");
}

TEST_CASE("the colours of a timeline are those of the outcomes") {
  const Zone utc{"UTC"};
  auto coloured = canvas(80, cmd::Charset::ascii);
  coloured.colour = true;
  const auto lines = lines_of(cmd::timeline({a_busy_afternoon()}, coloured));
  CHECK(lines[3].find("\x1b[32m###") != std::string::npos);
  CHECK(lines[4].find("\x1b[33m...") != std::string::npos);
  CHECK(lines[4].find("\x1b[31m###") != std::string::npos);
}

TEST_CASE("of nothing there is no timeline") {
  CHECK(cmd::timeline({}, canvas(80)).empty());
  CHECK(cmd::timeline({lock("k", {})}, canvas(80)).empty());
  // Everything at one moment.
  const auto text = cmd::timeline(
      {lock("k", {run("a", minutes{0}, minutes{0}, minutes{0}, {Kind::exited, 0})})}, canvas(40));
  CHECK(text.find("exit 0") != std::string::npos);
}

TEST_CASE("the locale's character set") {
  using cmd::Charset;
  CHECK(cmd::charset_of("", "", "en_US.UTF-8") == Charset::utf8);
  CHECK(cmd::charset_of("", "C.utf8", "C") == Charset::utf8);
  CHECK(cmd::charset_of("C", "en_US.UTF-8", "en_US.UTF-8") == Charset::ascii);
  CHECK(cmd::charset_of("", "", "de_DE@euro") == Charset::ascii);
  CHECK(cmd::charset_of("", "", "") == Charset::ascii);
}

}  // namespace unit::cmd_timeline
