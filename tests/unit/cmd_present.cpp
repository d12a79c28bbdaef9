// Tables and JSON of locks.
#include "cmd/present.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <system_error>

#include "lines.hpp"
#include "surroundings.hpp"

namespace unit::cmd_present {

using base::Millis;
using Json = nlohmann::json;
using store::Holder;
using store::Token;

namespace {

const std::string ours = "app@web1:42/job.sh#0123456789012345678901234567890123456789";

store::LockReport free_lock(std::string_view key = "deploy") {
  return {*store::LockName::from(key), std::nullopt, {}, std::nullopt, {}};
}

store::LockReport held_lock() {
  auto report = free_lock();
  report.mode = store::Mode{};
  report.holders = {{{Holder::Kind::holder, ours, Millis{124'000}, Millis{28'000}, 0}, 7}};
  report.fence = 7;
  return report;
}

/// All that `write` passes on.
std::string written(const std::function<void(const cmd::Pieces::Write&)>& write) {
  std::string text;
  write([&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace

TEST_CASE("a free lock's table says free and nobody, and whether the key is known") {
  auto known = free_lock();
  known.fence = 7;
  CHECK(cmd::as_table(known) == "key      deploy\nstate    free\nfence    7\nwaiting  0\n");
  CHECK(cmd::as_table(free_lock()) ==
        "key      deploy\nstate    free\n"
        "last run none: the server has never seen this key, or has forgotten it\nwaiting  0\n");
}

TEST_CASE("a held lock's table says who, until when, its fence and who waits") {
  auto report = held_lock();
  report.waiters = {
      {Token::foreign("a@b:1/x#0123456789012345678901234567890123456789"), {}, Millis{38'000}},
      {Token::foreign("other"), {store::Mode::Kind::shared}, Millis{5'000}}};
  const std::string table = cmd::as_table(report);
  CHECK(table.find("state    held\nmode     exclusive\nholder   app@web1:42/job.sh\n") !=
        std::string::npos);
  CHECK(table.find("token    " + ours + "\n") != std::string::npos);
  CHECK(table.find(" (2m4s ago)\n") != std::string::npos);
  CHECK(table.find("until    28s from now, unless refreshed\nfence    7\n") != std::string::npos);
  auto& holder = report.holders.front().holder;
  holder.expires_in.reset();
  holder.ends = Holder::Ends::with_owner;
  CHECK(cmd::as_table(report).find("until    its job ends, or its host dies\n") !=
        std::string::npos);
  holder.ends = Holder::Ends::with_lease;
  CHECK(cmd::as_table(report).find("until    it is released, or its lease ends\n") !=
        std::string::npos);
  CHECK(table.find("waiting  2\n     1   a@b:1/x, for 38s\n     2   other, shared, for 5s\n") !=
        std::string::npos);
}

TEST_CASE("several holders have their own fences, and permits their number") {
  auto report = held_lock();
  report.mode = store::Mode{store::Mode::Kind::permits, 3};
  report.holders.push_back({{Holder::Kind::foreign, "x\ny", std::nullopt, std::nullopt, 0}, 8});
  const std::string table = cmd::as_table(report);
  CHECK(table.find("mode     3 permits\n") != std::string::npos);
  CHECK(table.find("holder   x\\ny (a foreign client)\n") != std::string::npos);
  CHECK(table.find("until    it is released: it has no expiry\n") != std::string::npos);
  CHECK(table.find("fence    7\n") != std::string::npos);
  CHECK(table.find("fence    8\n") != std::string::npos);
}

TEST_CASE("at a narrow terminal the facts of a lock are broken between words") {
  auto report = held_lock();
  cmd::Look narrow;
  narrow.columns = 40;
  const std::string table = cmd::as_table(report, narrow);
  CHECK(table.find(" ago)\n") != std::string::npos);
  for (const auto& line : lines_of(table)) {
    CAPTURE(line);
    // A token is one word.
    CHECK((line.size() <= 40 || line.starts_with("token ")));
  }
  report.holders.front().holder.token = "a token of somebody else, with blanks in it";
  CHECK(cmd::as_table(report, narrow)
            .find("token    a token of somebody else, with blanks in it\n") != std::string::npos);
}

TEST_CASE("each holder's permit, and its name") {
  auto report = held_lock();
  report.mode = store::Mode{store::Mode::Kind::permits, 2, {"gpu:0", "gpu:1"}};
  report.holders.front().permit = 2;
  const std::string table = cmd::as_table(report);
  CHECK(table.find("mode     one of gpu:0,gpu:1\n") != std::string::npos);
  CHECK(table.find("permit   2 (gpu:1)\n") != std::string::npos);
  const Json named = Json::parse(cmd::as_json(report));
  CHECK(named["resources"] == Json{"gpu:0", "gpu:1"});
  CHECK(named["holders"][0]["permit"] == 2);
  CHECK(named["holders"][0]["resource"] == "gpu:1");
  report.mode = store::Mode{store::Mode::Kind::permits, 3};
  CHECK(cmd::as_table(report).find("permit   2\n") != std::string::npos);
  const Json plain = Json::parse(cmd::as_json(report));
  CHECK(plain["resources"].is_null());
  CHECK(plain["holders"][0]["permit"] == 2);
  CHECK(plain["holders"][0]["resource"].is_null());
  // Of an earlier version, which takes no number.
  report.holders.front().permit = 0;
  CHECK(cmd::as_table(report).find("permit  ") == std::string::npos);
  CHECK(Json::parse(cmd::as_json(report))["holders"][0]["permit"].is_null());
}

TEST_CASE("the reason of a holder is shown with it, and in the log") {
  auto report = held_lock();
  CHECK(Json::parse(cmd::as_json(report))["holders"][0]["reason"].is_null());
  report.runs = {{Token::foreign(ours),
                  7,
                  Millis{124'000},
                  Millis{0},
                  std::nullopt,
                  {store::RunOutcome::Kind::running},
                  ""}};
  report.runs.front().reason = "the database moves";
  CHECK(cmd::as_table(report).find("reason   the database moves\n") != std::string::npos);
  CHECK(Json::parse(cmd::as_json(report))["holders"][0]["reason"] == "the database moves");
  const std::vector<store::LockReport> list{report};
  CHECK(cmd::as_table(list, {}, cmd::ReasonColumn::yes).find("  the database moves\n") !=
        std::string::npos);
  CHECK(cmd::as_table(list).find("the database moves") == std::string::npos);
  CHECK(cmd::log_table({report}, cmd::KeyColumn::no)
            .find("app@web1:42/job.sh (the database moves)\n") != std::string::npos);
  const std::string log =
      written([&](const cmd::Pieces::Write& write) { cmd::write_log_json({report}, write); });
  CHECK(Json::parse(log)["locks"][0]["runs"][0]["reason"] == "the database moves");
  // Of the run before by the same token, nothing.
  report.runs.front().outcome.kind = store::RunOutcome::Kind::released;
  CHECK(cmd::as_table(report).find("reason") == std::string::npos);
}

TEST_CASE("a lock that --min-hold keeps has no job, and nobody refreshes it") {
  auto report = held_lock();
  report.holders.front().holder.kind = Holder::Kind::kept;
  const std::string table = cmd::as_table(report);
  CHECK(table.find("(its job has ended; --min-hold keeps the lock)\n") != std::string::npos);
  CHECK(table.find("until    28s from now\n") != std::string::npos);
  CHECK(Json::parse(cmd::as_json(report))["holders"][0]["job_ended"] == true);
}

TEST_CASE("a reserved lock and a value that is no string are shown as such") {
  auto report = held_lock();
  report.holders.front().holder.kind = Holder::Kind::reserved;
  CHECK(cmd::as_table(report).find("state    reserved: its next holder was woken and has not come "
                                   "yet\n") != std::string::npos);
  report.holders.front().holder = {Holder::Kind::foreign, "", std::nullopt, std::nullopt, 0};
  CHECK(cmd::as_table(report).find("a foreign client (its value is empty or no string)") !=
        std::string::npos);
}

TEST_CASE("a list has a line for each lock below its heading") {
  auto many = held_lock();
  many.holders.push_back(many.holders.front());
  const std::string table =
      cmd::as_table(std::vector{free_lock("a-longer-key"), held_lock(), many});
  CHECK(
      table.starts_with("KEY           STATE   FOR  TTL  WAITING  HOLDER\n"
                        "a-longer-key  free      -    -        0  -\n"
                        "deploy        held   2m4s  28s        0  app@web1:42/job.sh\n"));
  CHECK(table.find("app@web1:42/job.sh and 1 more\n") != std::string::npos);
}

TEST_CASE("times are local for people and in UTC for programs") {
  const Surroundings around;
  around.set("TZ", "XYZ-5:30");
  ::tzset();
  const auto report = held_lock();
  const auto since =
      std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() - Millis{124'000});
  const std::string table = cmd::as_table(report);
  const auto shown = [&](std::time_t when) {
    std::tm utc{};
    ::gmtime_r(&when, &utc);
    std::array<char, 32> text{};
    return std::string{text.data(), std::strftime(text.data(), text.size(), "%F %T", &utc)};
  };
  // A second may begin between the two looks at the clock.
  const bool local = table.find("since    " + shown(since + 19'800)) != std::string::npos ||
                     table.find("since    " + shown(since + 19'801)) != std::string::npos;
  CHECK(local);
  const std::string json = Json::parse(cmd::as_json(report))["holders"][0]["since"];
  CHECK(json.ends_with("Z"));
  CHECK(json.substr(0, 10) == shown(since).substr(0, 10));
}

TEST_CASE("colours are there only if they are wanted, and what is free is green") {
  CHECK(cmd::as_table(free_lock()).find('\x1b') == std::string::npos);
  CHECK(cmd::as_table(free_lock(), {std::nullopt, true}).find("\x1b[32mfree\x1b[0m") !=
        std::string::npos);
  CHECK(cmd::as_table(held_lock(), {std::nullopt, true}).find("\x1b[33mheld\x1b[0m") !=
        std::string::npos);
}

TEST_CASE("the JSON of a lock has every field, null where nothing is known") {
  const Json free = Json::parse(cmd::as_json(free_lock()));
  CHECK(free["state"] == "free");
  for (const char* name : {"mode", "permits", "holder", "held_ms", "ttl_ms", "fence"}) {
    CHECK(free.contains(name));
    CHECK(free[name].is_null());
  }
  CHECK(free["holders"].empty());
  CHECK(free["waiters"].empty());

  auto report = held_lock();
  report.mode = store::Mode{store::Mode::Kind::permits, 3};
  report.waiters = {{Token::foreign("other"), {store::Mode::Kind::shared}, Millis{5'000}}};
  const Json held = Json::parse(cmd::as_json(report));
  CHECK(held["mode"] == "permits");
  CHECK(held["permits"] == 3);
  CHECK(held["holder"]["user"] == "app");
  CHECK(held["holder"]["pid"] == 42);
  CHECK(held["holder"]["foreign"] == false);
  CHECK(held["holders"][0]["fence"] == 7);
  CHECK(held["held_ms"] == 124'000);
  CHECK(held["waiters"][0]["foreign"] == true);
  CHECK(held["waiters"][0]["pid"].is_null());
  CHECK(held["waiters"][0]["mode"] == "shared");
  CHECK(held["waiters"][0]["waiting_ms"] == 5'000);
}

TEST_CASE("JSON is pure ASCII, whatever the key is made of") {
  const std::string text = written([](const cmd::Pieces::Write& write) {
    cmd::write_json({free_lock("gr\xc3\xbc\xc3\x9f"
                               "e\x1b[31m\xff")},
                    write);
  });
  for (const char c : text) CHECK(static_cast<unsigned char>(c) < 0x80);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(Json::parse(text)["locks"].size() == 1);
}

TEST_CASE("a list's JSON comes in pieces, and is as if it were written whole") {
  for (const std::size_t number : {0U, 1U, 2U, 500U}) {
    const std::vector<store::LockReport> reports(number, held_lock());
    std::size_t pieces = 0;
    const std::string text = written([&](const cmd::Pieces::Write& write) {
      cmd::write_json(reports, [&](std::string_view piece) {
        ++pieces;
        CHECK(piece.size() < (std::size_t{128} << 10));
        write(piece);
      });
    });
    const auto read = cmd::Json::parse(text);
    CHECK(read["locks"].size() == number);
    CHECK(text == cmd::dumped(read));
    CHECK((pieces > 1) == (number == 500));
  }
}

TEST_CASE("of several holders one whose fence is not known has no line for it") {
  auto report = held_lock();
  report.holders.push_back({{Holder::Kind::foreign, "x", std::nullopt, std::nullopt, 0}, {}});
  const std::string table = cmd::as_table(report);
  CHECK(table.find("fence    7\n") != std::string::npos);
  CHECK(table.find("fence ") == table.rfind("fence "));
  CHECK(Json::parse(cmd::as_json(report))["holders"][1]["fence"].is_null());
}

TEST_CASE("output is written at once, whole") {
  const Surroundings around;
  const std::string novel(100'000, 'x');
  std::string first;
  std::string all;
  {
    const StdoutTo file{around / "stdout"};
    cmd::print("one\n");
    first = around.read("stdout");
    cmd::print(novel);
    all = around.read("stdout");
  }
  CHECK(first == "one\n");
  CHECK(all == first + novel);
}

TEST_CASE("output that cannot be written is an error, be it short or long") {
  const auto error_of = [](std::string_view text) {
    const StdoutTo full{"/dev/full"};
    try {
      cmd::print(text);
    } catch (const std::system_error& error) {
      return error.code().value();
    }
    return 0;
  };
  CHECK(error_of("one\n") == ENOSPC);
  CHECK(error_of(std::string(100'000, 'x')) == ENOSPC);
}

}  // namespace unit::cmd_present
