// rlock's messages for programs, and their level of detail.
#include "cmd/log_output.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "os/fd.hpp"
#include "os/journal.hpp"
#include "surroundings.hpp"

namespace unit::cmd_log_output {
namespace {

using base::log::Level;
using base::log::Record;
using base::log::Severity;

Record record(std::string_view text, std::vector<base::log::Field> fields = {}) {
  return {Severity::notice, "waiting", text, std::move(fields)};
}

/// The level that these words set, and what is around them.
Level level(const std::vector<std::string>& words) {
  const cmd::Settings settings = settings_of(words);
  base::log::set_level(Level::normal);
  cmd::set_up_log(settings);
  const Level set = base::log::level();
  base::log::set_level(Level::normal);
  base::log::set_writer(nullptr);
  return set;
}

}  // namespace

TEST_CASE("-v says more, and -vv also the conversation") {
  const Surroundings around;
  CHECK(level({}) == Level::normal);
  CHECK(level({"-v"}) == Level::verbose);
  CHECK(level({"-vv"}) == Level::trace);
  CHECK(level({"-v", "-v", "-v"}) == Level::trace);
  around.set("RLOCK_VERBOSE", "2");
  CHECK(level({}) == Level::trace);
  CHECK(level({"-v"}) == Level::verbose);
  CHECK(level({"-q"}) == Level::quiet);
  around.set("RLOCK_VERBOSE", "yes");
  CHECK(level({}) == Level::verbose);
}

TEST_CASE("as JSON, each line is one object with its time, level, event, fields and message") {
  const auto line =
      cmd::as_json_line(record("waiting for 'a'", {{"key", "a"}, {"position", std::int64_t{3}}}));
  REQUIRE(line.ends_with("}\n"));
  CHECK(line.find('\n') == line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  CHECK(json["time"].get<std::string>().size() ==
        std::string_view{"2026-11-24T06:00:00.123Z"}.size());
  CHECK(json["level"] == "notice");
  CHECK(json["event"] == "waiting");
  CHECK(json["key"] == "a");
  CHECK(json["position"] == 3);
  CHECK(json["message"] == "waiting for 'a'");
}

TEST_CASE("for any key the line is valid JSON in ASCII") {
  const std::string key = "a\"b\n\xff\x1b[2J\xe2\x80\xae{}";
  const auto line = cmd::as_json_line(record("x", {{"key", key}}));
  CHECK(line.find('\n') == line.size() - 1);
  CHECK(std::all_of(line.begin(), line.end() - 1, [](char c) { return c >= ' ' && c < 0x7F; }));
  CHECK(nlohmann::json::parse(line)["key"] == "a\"b\n\xef\xbf\xbd\x1b[2J\xe2\x80\xae{}");
}

TEST_CASE("the journal gets the message, the priority, and each field by a name of its own") {
  CHECK(cmd::as_journal_entry(record("got 'a'", {{"key", "a"}, {"waited_ms", std::int64_t{65}}})) ==
        "MESSAGE=got 'a'\nPRIORITY=5\nSYSLOG_IDENTIFIER=rlock\nRLOCK_EVENT=waiting\n"
        "RLOCK_KEY=a\nRLOCK_WAITED_MS=65\n");
}

TEST_CASE("a value with a newline comes behind its length, so that it makes no field of its own") {
  using namespace std::string_literals;
  CHECK(os::journal_entry({{"A", "x"}, {"B", "y\nPRIORITY=0"}}) ==
        "A=x\nB\n\x0c\0\0\0\0\0\0\0y\nPRIORITY=0\n"s);
}

TEST_CASE(
    "an entry reaches the journal's socket as one datagram; where there is none, it says so") {
  const Surroundings around;
  const std::string path = around / "socket";
  CHECK_FALSE(os::send_to_journal("A=x\n", path.c_str()));
  const os::Fd journal{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  REQUIRE(::bind(journal.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
          0);
  CHECK(os::send_to_journal("A=x\n", path.c_str()));
  char datagram[100];
  const auto size = ::recv(journal.number(), datagram, sizeof datagram, MSG_DONTWAIT);
  CHECK(std::string_view(datagram, static_cast<std::size_t>(std::max<ssize_t>(size, 0))) ==
        "A=x\n");
  // One that is full is not waited for.
  int sent = 0;
  while (sent < 100'000 && os::send_to_journal(std::string(1'000, 'x'), path.c_str())) ++sent;
  CHECK(sent < 100'000);
  CHECK_FALSE(os::send_to_journal("x", std::string(200, 'x').c_str()));
}

TEST_CASE("stderr is the journal where JOURNAL_STREAM names its device and inode, and only there") {
  const Surroundings around;
  around.unset("JOURNAL_STREAM");
  CHECK_FALSE(os::stderr_is_journal());
  struct stat found {};
  REQUIRE(::fstat(STDERR_FILENO, &found) == 0);
  around.set("JOURNAL_STREAM", fmt::format("{}:{}", found.st_dev, found.st_ino));
  CHECK(os::stderr_is_journal());
  around.set("JOURNAL_STREAM", fmt::format("{}:{}", found.st_dev, found.st_ino + 1));
  CHECK_FALSE(os::stderr_is_journal());
  around.set("JOURNAL_STREAM", "nonsense");
  CHECK_FALSE(os::stderr_is_journal());
  around.unset("JOURNAL_STREAM");
}

}  // namespace unit::cmd_log_output
