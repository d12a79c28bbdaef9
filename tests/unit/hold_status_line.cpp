// The line that people see while they wait.
#include "hold/progress.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "os/fd.hpp"

namespace unit::hold_status_line {

namespace {

store::LockName name(std::string_view text) {
  return *store::LockName::from(text);
}

const store::Queued second{store::Holder{store::Holder::Kind::holder,
                                         "app@h:1/job#0123456789012345678901234567890123456789",
                                         base::Millis{12'000}, std::nullopt, 0},
                           1, std::nullopt};

const base::Moment start{std::chrono::hours{1}};
base::Moment at(int seconds) {
  return start + std::chrono::seconds{seconds};
}
/// Held for a second when that was said.
store::Queued behind_ann(std::size_t ahead = 1) {
  return {store::Holder{store::Holder::Kind::holder, "ann", base::Millis{1'000}, std::nullopt},
          ahead, std::nullopt};
}
store::Fault silent(const std::string& why) {
  return {store::Fault::Kind::silent, why};
}

std::string captured;
/// The output since the last call.
std::string said() {
  return std::exchange(captured, {});
}

/// A stderr of another kind than that of the tests. The output there is captured.
class Stderr {
 public:
  explicit Stderr(os::Fd in_its_place)
      : fd_{std::move(in_its_place)}, before_{::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)} {
    REQUIRE(fd_.number() >= 0);
    ::dup2(fd_.number(), STDERR_FILENO);
    captured.clear();
  }
  Stderr(const Stderr&) = delete;
  Stderr& operator=(const Stderr&) = delete;
  ~Stderr() { ::dup2(before_.number(), STDERR_FILENO); }

 private:
  static std::size_t capture(std::string_view text) {
    captured += text;
    return text.size();
  }

  os::Fd fd_;
  os::Fd before_;
  base::log::NonBlockingStderr at_once_{capture};
};
os::Fd no_terminal() {
  return os::Fd{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
}

class Terminal {
 public:
  explicit Terminal(unsigned short columns) {
    ::grantpt(screen_.number());
    ::unlockpt(screen_.number());
    resize(columns);
  }
  void resize(unsigned short columns) {
    const winsize size{24, columns, 0, 0};
    REQUIRE(::ioctl(screen_.number(), TIOCSWINSZ, &size) == 0);
  }
  [[nodiscard]] os::Fd open() const {
    return os::Fd{::open(::ptsname(screen_.number()), O_RDWR | O_NOCTTY | O_CLOEXEC)};
  }

 private:
  os::Fd screen_{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
};
const std::string again = "\r\x1b[K";  // in the same line

}  // namespace

TEST_CASE("elsewhere than on a terminal the first line comes after a second, and one each minute") {
  const Stderr elsewhere{no_terminal()};
  {
    hold::WaitingLine line{name("a\n"), {}, start};
    CHECK(line.due().is_never());
    line.update(behind_ann(), start);
    CHECK(said().empty());
    CHECK(line.due() == base::Deadline::at(at(1)));
    CHECK_FALSE(line.is_in_log());
    line.update(behind_ann(), at(1));
    CHECK(said() == "rlock: waiting for 'a\\n': held by ann for 1s, position 2\n");
    CHECK(line.is_in_log());
    CHECK(line.due() == base::Deadline::at(at(61)));
    line.update(behind_ann(), at(2));
    CHECK(said().empty());
    CHECK(line.due() == base::Deadline::at(at(61)));
    line.tick(at(61));
    CHECK(said() == "rlock: waiting for 'a\\n': held by ann for 1m, position 2\n");
    CHECK(line.due() == base::Deadline::at(at(121)));
  }
  CHECK(said().empty());
}

TEST_CASE("the first line of a log wants news, unless the state is new") {
  const Stderr elsewhere{no_terminal()};
  hold::WaitingLine line{name("a"), {}, start};
  line.update(behind_ann(), start);
  CHECK(line.first_line_due() == base::Deadline::at(at(1)));
  CHECK(line.wants_news(at(1)));
  line.update(behind_ann(0), at(1) - base::Millis{100});
  CHECK(said().empty());
  CHECK_FALSE(line.wants_news(at(1)));
  line.tick(at(1));
  CHECK(said() == "rlock: waiting for 'a': held by ann for 1s, position 1\n");
  // All others tell what is known.
  CHECK_FALSE(line.wants_news(at(61)));
  CHECK(line.first_line_due().is_never());
}

TEST_CASE("elsewhere a change of the place or of the holder is said, at most every 10 s") {
  const Stderr elsewhere{no_terminal()};
  hold::WaitingLine line{name("a"), {}, start};
  line.update(behind_ann(2), at(-1));
  line.update(behind_ann(2), start);
  (void)said();
  line.update(behind_ann(1), at(1));
  CHECK(said().empty());
  CHECK(line.due() == base::Deadline::at(at(10)));
  line.update(behind_ann(0), at(3));
  CHECK(said().empty());
  line.tick(at(10));
  CHECK(said() == "rlock: waiting for 'a': held by ann for 8s, position 1\n");
  CHECK(line.due() == base::Deadline::at(at(70)));

  auto bob = behind_ann(0);
  bob.holder->token = "bob";
  line.update(bob, at(30));
  CHECK(said() == "rlock: waiting for 'a': held by bob for 1s, position 1\n");
  CHECK(line.due() == base::Deadline::at(at(90)));
  bob.holder->held_for = base::Millis{15'000};
  line.update(bob, at(44));
  CHECK(said().empty());
}

TEST_CASE("trouble is said once, and again after it was over") {
  const Stderr elsewhere{no_terminal()};
  const std::string trouble =
      "rlock: waiting for 'a': cannot reach the server (no answer); trying again\n";
  hold::WaitingLine line{name("a"), {}, start};
  line.update(silent("no answer"), start);
  CHECK(said() == trouble);
  line.update(silent("no answer"), at(1));
  line.update(silent("refused"), at(2));
  CHECK(said().empty());
  // A server that was only slow to be reached is no wait for the lock.
  CHECK_FALSE(line.is_in_log());
  line.update(behind_ann(), at(3));
  line.update(silent("no answer"), at(4));
  CHECK(said() == trouble);
  CHECK_FALSE(line.is_in_log());
}

TEST_CASE("the time of a holder that has none is not reckoned") {
  const Stderr elsewhere{no_terminal()};
  hold::WaitingLine line{name("a"), {}, start};
  line.update({std::nullopt, 0, std::nullopt}, start);
  line.tick(at(1));
  CHECK(said() == "rlock: waiting for 'a': free, but others wait for it, position 1\n");
  auto place = behind_ann();
  place.holder->held_for.reset();
  line.update(place, at(2));
  line.tick(at(60));
  CHECK(said() == "rlock: waiting for 'a': held by ann, position 2\n");
}

TEST_CASE("on a terminal one line is rewritten every second, and wiped at the end") {
  const Terminal terminal{80};
  const Stderr there{terminal.open()};
  {
    hold::WaitingLine line{name("a"), {}, start};
    line.update(behind_ann(), start);
    CHECK(said() == again + "rlock: position 2: 'a' is held by ann for 1s");
    CHECK(line.due() == base::Deadline::at(at(1)));
    CHECK_FALSE(line.wants_news(at(1)));
    CHECK(line.first_line_due().is_never());
    line.tick(at(1));
    CHECK(said() == again + "rlock: position 2, waited 1s: 'a' is held by ann for 2s");
    CHECK(line.due() == base::Deadline::at(at(2)));
    line.update(behind_ann(0), at(5));
    CHECK(said() == again + "rlock: position 1, waited 5s: 'a' is held by ann for 1s");
    line.update(silent("no answer"), at(6));
    CHECK(said() ==
          again + "rlock: waited 6s for 'a': cannot reach the server (no answer); trying again");
    line.update(silent("refused"), at(7));
    CHECK(said() ==
          again + "rlock: waited 7s for 'a': cannot reach the server (refused); trying again");
    CHECK_FALSE(line.is_in_log());
  }
  CHECK(said() == again);
}

TEST_CASE("the line leaves a column free, of as many as the terminal has then") {
  Terminal terminal{80};
  const Stderr there{terminal.open()};
  hold::WaitingLine line{name("a"), {}, start};
  line.update(silent(std::string(200, 'w')), start);
  const auto columns = [&] {
    (void)said();
    line.tick(start);
    const std::string text = said();
    REQUIRE(text.starts_with(again));
    REQUIRE(text.ends_with("…"));  // three bytes in one column
    return text.size() - again.size() - 2;
  };
  CHECK(columns() == 79);
  terminal.resize(40);
  CHECK(columns() == 39);
  terminal.resize(0);  // it does not say
  CHECK(columns() == 79);
  terminal.resize(3);
  line.tick(start);
  CHECK(said() == again + "rlock: ");
}

TEST_CASE("nothing is said when quiet, on a terminal or elsewhere") {
  const Terminal terminal{80};
  for (const bool on_terminal : {false, true}) {
    const Stderr there{on_terminal ? terminal.open() : no_terminal()};
    base::log::set_level(base::log::Level::quiet);
    {
      hold::WaitingLine line{name("a"), {}, start};
      line.update(behind_ann(), start);
      CHECK(line.first_line_due().is_never());
      line.update(silent("no answer"), at(1));
      line.tick(at(90));
      CHECK_FALSE(line.due().passed(at(90)));
    }
    base::log::set_level(base::log::Level::normal);
    CHECK(said().empty());
  }
}

TEST_CASE("elsewhere than on a terminal the line is whole") {
  CHECK(hold::waiting_text(name("deploy"), second, {}, "") ==
        "waiting for 'deploy': held by app@h:1/job for 12s, position 2");
  CHECK(hold::waiting_text(name("deploy"), second, {}, "no answer") ==
        "waiting for 'deploy': cannot reach the server (no answer); trying again");
}

namespace {

/// Waited for 192 s, with an estimate and the holder's reason.
std::string shown(std::size_t columns, const std::string& key = "deploy") {
  auto place = second;
  place.holder->reason = "release 1.7";
  place.typical_run = base::Millis{60'000};
  const auto text = hold::status_text(name(key), place, {}, "", base::Millis{192'999}, columns);
  CHECK(base::columns_of(text) <= columns);
  return text;
}

}  // namespace

TEST_CASE("on a terminal what moves comes first") {
  CHECK(shown(100) ==
        "position 2, waited 3m12s, about 1m45s: 'deploy' is held by app@h:1/job for 12s "
        "(release 1.7)");
}

TEST_CASE("on a narrow terminal words are shortened before facts are left out") {
  CHECK(shown(80) ==
        "#2, waited 3m12s, ~1m45s: 'deploy' held by app@h:1/job for 12s (release 1.7)");
  CHECK(shown(70) == "#2, waited 3m12s, ~1m45s: 'deploy' held by app@h:1/job for 12s");
  CHECK(shown(60) == "#2, waited 3m12s, ~1m45s: 'deploy' held by app@h:1/job");
  CHECK(shown(50) == "#2, waited 3m12s, ~1m45s: held by app@h:1/job");
  CHECK(shown(72, std::string(200, 'k')) ==
        "#2, waited 3m12s, ~1m45s: 'kkkkkkkkkkkk…kkkkkkkkkkk' held by app@h:1/job");
  CHECK(shown(37) == "#2, waited 3m12s, ~1m45s: app@h:1/job");
  CHECK(shown(34) == "#2, waited 3m12s, ~1m45s: app@h:1…");
  CHECK(shown(33) == "#2, waited 3m12s, ~1m45s");
  CHECK(shown(20) == "#2, waited 3m12s, ~…");
  CHECK(shown(1) == "…");
}

TEST_CASE("on a narrow terminal trouble loses its words first") {
  const auto trouble = [](std::size_t columns) {
    return hold::status_text(name("deploy"), second, {}, "no answer", base::Millis{12'000},
                             columns);
  };
  CHECK(trouble(80) ==
        "waited 12s for 'deploy': cannot reach the server (no answer); trying again");
  CHECK(trouble(60) == "waited 12s: cannot reach the server (no answer)");
  CHECK(trouble(40) == "waited 12s: cannot reach the server (no…");
}

TEST_CASE("text is cut to columns between characters") {
  CHECK(base::fit_columns("abc", 3) == "abc");
  CHECK(base::fit_columns("abcd", 3) == "ab…");
  CHECK(base::fit_columns("\xc3\xbc\xc3\xbc\xc3\xbc", 2) == "\xc3\xbc…");
  CHECK(base::fit_columns("\xe6\xbc\xa2\xe6\xbc\xa2", 4) == "\xe6\xbc\xa2\xe6\xbc\xa2");
  CHECK(base::fit_columns("\xe6\xbc\xa2\xe6\xbc\xa2", 3) == "\xe6\xbc\xa2…");
  CHECK(base::fit_columns("a", 0).empty());
  CHECK(base::fit_columns("", 5).empty());
  CHECK(base::fit_columns("a→b→c", 5) == "a→b→c");  // an arrow takes one column
}

TEST_CASE("text is cut to bytes between characters") {
  CHECK(base::cut_to("abc", 5) == "abc");
  CHECK(base::cut_to("abc", 2) == "ab");
  CHECK(base::cut_to("a\xc3\xbc", 2) == "a");
  CHECK(base::cut_to("\xc3\xbc", 1).empty());
}

}  // namespace unit::hold_status_line
