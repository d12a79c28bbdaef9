// The status file that a run leaves for programs.
#include "cmd/status_file.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "surroundings.hpp"

namespace unit::cmd_status_file {

using Json = nlohmann::json;
using base::Millis;
using cmd::RunRecord;
using Outcome = cmd::RunRecord::Outcome;

namespace {

store::LockName name(std::string_view text) {
  return *store::LockName::from(text);
}

store::Lease lease(std::string_view key, store::Fence fence) {
  return {name(key), store::Token::foreign("app@h:1/x#0"), *store::Ttl::from(Millis{1000}),
          base::Deadline::never(), fence};
}

Json json_of(const RunRecord& record, int code = 0, Millis after = Millis{5'000}) {
  return Json::parse(cmd::status_text(record, code, record.began + after));
}

}  // namespace

TEST_CASE("a run that waited and ran has its times, its job and its fences") {
  RunRecord record{{name("a"), name("b")}};
  record.outcome = Outcome::ran;
  record.granted = record.began + Millis{1'000};
  record.ended = record.began + Millis{3'500};
  record.leases = {lease("a", 7), lease("b", 8)};
  record.job = os::ExitStatus{3 << 8};
  const Json json = json_of(record, 3);
  CHECK(json["outcome"] == "ran");
  CHECK(json["exit_code"] == 3);
  CHECK(json["job"]["exit_code"] == 3);
  CHECK(json["job"]["signal"].is_null());
  CHECK(json["key"] == "a");
  CHECK(json["fence"] == 7);
  CHECK(json["keys"][1]["key"] == "b");
  CHECK(json["keys"][1]["fence"] == 8);
  CHECK(json["token"] == "app@h:1/x#0");
  CHECK(json["waited_ms"] == 1'000);
  CHECK(json["held_ms"] == 2'500);
  CHECK(json["lost_why"].is_null());
  CHECK(json["why"].is_null());
}

TEST_CASE("a run with a permit says which") {
  RunRecord record{{name("a")}};
  record.leases = {lease("a", 7)};
  CHECK(json_of(record)["keys"][0]["permit"].is_null());
  record.leases.front().permit = 2;
  CHECK(json_of(record)["keys"][0]["permit"] == 2);
  CHECK(json_of(record)["keys"][0]["resource"].is_null());
  record.leases.front().resource = "gpu:1";
  CHECK(json_of(record)["keys"][0]["resource"] == "gpu:1");
}

TEST_CASE("a job that died of a signal has that in place of an exit code") {
  RunRecord record{{name("a")}};
  record.job = os::ExitStatus{9};
  const Json json = json_of(record, 137);
  CHECK(json["job"]["exit_code"].is_null());
  CHECK(json["job"]["signal"] == 9);
}

TEST_CASE("fields that do not apply are null, and the wait lasts until the end") {
  const Json json = json_of(RunRecord{{name("a")}}, 71);
  CHECK(json["outcome"] == "failed");
  for (const char* field : {"job", "fence", "token", "held_ms", "lost_why", "why"}) {
    CHECK(json.contains(field));
    CHECK(json[field].is_null());
  }
  CHECK(json["keys"][0]["fence"].is_null());
  CHECK(json["waited_ms"] == 5'000);
}

TEST_CASE("why the locks were not acquired becomes an outcome and a reason") {
  const auto noted = [](const hold::NotAcquired& why) {
    RunRecord record{{name("a")}};
    cmd::note(record, why);
    return json_of(record);
  };
  const store::Holder holder{store::Holder::Kind::holder, "app@h:1/x#0", std::nullopt, std::nullopt,
                             0};
  const Json busy = noted(hold::GaveUp{name("a"), holder, 0, hold::GaveUp::Why::busy});
  CHECK(busy["outcome"] == "busy");
  CHECK(busy["why"] == "held by app@h:1/x#0");
  CHECK(noted(hold::Dismissed{name("a"), "superseded by b"})["why"] == "superseded by b");
  CHECK(noted(hold::Dismissed{name("a"), "x"})["outcome"] == "busy");
  CHECK(noted(hold::Incompatible{name("a"), {{}, store::Token::foreign("z")}})["outcome"] ==
        "mismatch");
  CHECK(noted(hold::Interrupted{15})["outcome"] == "interrupted");
  CHECK(noted(hold::Interrupted{15})["why"] == "signal 15");
  const Json fault = noted(store::Fault{store::Fault::Kind::silent, "no answer"});
  CHECK(fault["outcome"] == "failed");
  CHECK(fault["why"] == "no answer");
}

TEST_CASE("every outcome has a word") {
  const std::vector<std::pair<Outcome, std::string>> words{{Outcome::ran, "ran"},
                                                           {Outcome::not_started, "not-started"},
                                                           {Outcome::busy, "busy"},
                                                           {Outcome::mismatch, "mismatch"},
                                                           {Outcome::lost, "lost"},
                                                           {Outcome::stopped, "stopped"},
                                                           {Outcome::interrupted, "interrupted"},
                                                           {Outcome::failed, "failed"}};
  for (const auto& [outcome, word] : words) {
    RunRecord record{{name("a")}};
    record.outcome = outcome;
    CHECK(json_of(record)["outcome"] == word);
  }
}

TEST_CASE("the wall clock's times are RFC 3339, and as far apart as the run was long") {
  RunRecord record{{name("a")}, "redis://h"};
  record.began_at = RunRecord::WallClock::time_point{Millis{1'795'225'723'042}};
  const Json json = json_of(record, 0, Millis{61'000});
  CHECK(json["started_at"] == "2026-11-21T01:48:43.042Z");
  CHECK(json["ended_at"] == "2026-11-21T01:49:44.042Z");
  CHECK(json["server"] == "redis://h");
  CHECK(json["host"].is_string());
}

TEST_CASE("a record is of a run with locks if it has a token") {
  RunRecord record{{name("a")}};
  CHECK_FALSE(cmd::is_of_a_run_with_locks(cmd::status_text(record, 75, record.began)));
  record.leases = {lease("a", 7)};
  CHECK(cmd::is_of_a_run_with_locks(cmd::status_text(record, 0, record.began)));
  for (const char* other : {"", "old", "[1]", "{}", "{\"token\": 5}", "{\"token\": \"x\""}) {
    CHECK_FALSE(cmd::is_of_a_run_with_locks(other));
  }
}

TEST_CASE("a record is saved where a file was named, in place of what was there") {
  const Surroundings around;
  RunRecord record{{name("a")}};
  const Said said;
  cmd::save(record, std::nullopt, 71);
  cmd::save(record, around / "status", 71);
  CHECK(Json::parse(around.read("status"))["exit_code"] == 71);
  record.outcome = Outcome::ran;
  cmd::save(record, around / "status", 0);
  CHECK(Json::parse(around.read("status"))["outcome"] == "ran");
  CHECK(said.text().empty());
}

TEST_CASE("a run that finds its locks busy leaves the record of one that had them alone") {
  const Surroundings around;
  const std::string file = around / "status";
  RunRecord busy{{name("a")}};
  busy.outcome = Outcome::busy;
  const auto saved = [&](const RunRecord& record) {
    cmd::save(record, file, 75);
    return Json::parse(around.read("status"))["outcome"];
  };
  CHECK(saved(busy) == "busy");  // there was none
  RunRecord ran{{name("a")}};
  ran.outcome = Outcome::ran;
  CHECK(saved(ran) == "ran");
  CHECK(saved(busy) == "busy");  // one without locks is no better
  ran.leases = {lease("a", 7)};
  CHECK(saved(ran) == "ran");
  CHECK(saved(busy) == "ran");
  RunRecord failed{{name("a")}};
  CHECK(saved(failed) == "failed");  // more than busy: it is the news
  (void)around.write("status", "no record");
  CHECK(saved(busy) == "busy");
}

TEST_CASE("a record that cannot be saved is said, and nothing else happens") {
  const Surroundings around;
  const Said said;
  cmd::save(RunRecord{{name("a")}}, around / "absent/status\x1b", 0);
  CHECK(said.text() == "rlock: --status-file: cannot write '" + around / "absent/status\\x1b" +
                           "': No such file or directory\n");
}

}  // namespace unit::cmd_status_file
