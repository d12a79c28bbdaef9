// Rounds as transactions of etcd, and their answers.
#include <doctest/doctest.h>

#include "store/etcd/transaction.hpp"

namespace unit::etcd_transaction {

namespace {

using namespace store;
using namespace store::etcd;
using sessions::Error;
using sessions::Round;
using sessions::Stat;
using Kind = sessions::Transaction::Kind;

const Asker self{42, 1'000};

Json pair(const std::string& key, int created, int written, const std::string& value = "") {
  return {{"key", base64_of(key)},
          {"value", base64_of(value)},
          {"create_revision", std::to_string(created)},
          {"mod_revision", std::to_string(written)}};
}

Json range(std::vector<Json> pairs) {
  return {{"response_range", {{"kvs", std::move(pairs)}}}};
}

Json answer(bool succeeded, std::vector<Json> responses) {
  return {{"header", {{"revision", "20"}, {"raft_term", "3"}}},
          {"succeeded", succeeded},
          {"responses", std::move(responses)}};
}

const Json put{{"response_put", Json::object()}};
const Json deleted{{"response_delete_range", Json::object()}};
const Json nothing{{"response_range", {{"header", Json::object()}}}};

Round claim() {
  Round round;
  round.change.create(Kind::queue, "p/queue/k/x-1-", "token");
  round.change.create(Kind::lasting, "p/runs/k/1", "run");
  round.queue("p/queue/k");
  return round;
}

}  // namespace

TEST_CASE("a claim as a question") {
  const auto question = *json_in(question_of(claim(), self));
  const auto key = base64_of("p/queue/k/x-1-42");
  CHECK(question["compare"].size() == 2);
  CHECK(question["compare"][0] ==
        Json{{"key", key}, {"target", "CREATE"}, {"result", "EQUAL"}, {"create_revision", "0"}});
  CHECK(question["success"].size() == 3);
  CHECK(question["success"][0]["request_put"] ==
        Json{{"key", key}, {"value", base64_of("1000 1000\ntoken")}, {"lease", "42"}});
  CHECK_FALSE(question["success"][1]["request_put"].contains("lease"));
  CHECK(question["success"][2]["request_range"]["range_end"] == base64_of("p/queue/k0"));
  CHECK(question["success"][2]["request_range"]["sort_target"] == "CREATE");
  CHECK(question["failure"].size() == 3);
}

TEST_CASE("changes of nodes that are there") {
  Round round;
  Stat before;
  before.created_ms = 5;
  before.version = 9;
  round.change.set("a", "text", before);
  before.version = sessions::any_version;
  round.change.set("b", "text", before);
  round.change.erase("c");
  round.change.erase("d", 7);
  round.change.check("e");
  round.change.leftovers = {{"f", sessions::any_version}, {"g", 3}, {"c", sessions::any_version}};
  const auto question = *json_in(question_of(round, self));
  const auto& compares = question["compare"];
  CHECK(compares[0]["mod_revision"] == "9");
  CHECK(compares[1]["result"] == "GREATER");
  CHECK(compares[2]["result"] == "GREATER");
  CHECK(compares[3]["mod_revision"] == "7");
  CHECK(compares[4]["result"] == "GREATER");
  const auto& acts = question["success"];
  REQUIRE(acts.size() == 6);  // not "c" twice, which etcd refuses
  CHECK(acts[0]["request_put"]["ignore_lease"] == true);
  CHECK(acts[0]["request_put"]["value"] == base64_of("5 1000\ntext"));
  CHECK(acts[2]["request_delete_range"]["key"] == base64_of("c"));
  CHECK(acts[4]["request_delete_range"]["key"] == base64_of("f"));
  CHECK(acts[5]["request_txn"]["compare"][0]["mod_revision"] == "3");
  CHECK(question["failure"].size() == 5);
}

TEST_CASE("a change that was carried out") {
  const auto told = answer_in(
      answer(true, {put, put,
                    range({pair("p/queue/k/s-2-7", 11, 11), pair("p/queue/k/x-1-42", 20, 20)})}),
      claim(), self);
  REQUIRE(told.has_value());
  CHECK(told->revision == 20);
  CHECK(told->term == 3);
  REQUIRE(static_cast<bool>(told->answers.change));
  const auto& made = told->answers.change->made;
  CHECK(made[0].path == "p/queue/k/x-1-42");
  CHECK(made[0].stat->created_by == 20);
  CHECK(made[0].stat->created_ms == 1'000);
  CHECK(made[0].stat->is_ours);
  CHECK_FALSE(made[1].stat->is_ours);
  CHECK(told->answers.queues[0]->names == std::vector<std::string>{"s-2-7", "x-1-42"});
  CHECK(told->answers.queues[0]->change == 20);
}

TEST_CASE("why a change was not carried out") {
  const auto rejected_by = [](const Round& round, std::vector<Json> responses) {
    const auto told = answer_in(answer(false, std::move(responses)), round, self);
    REQUIRE(told.has_value());
    REQUIRE_FALSE(static_cast<bool>(told->answers.change));
    return told->answers.change.error();
  };
  auto rejected = rejected_by(claim(), {nothing, range({pair("p/runs/k/1", 5, 5)}), nothing});
  CHECK(rejected.error.kind == Error::Kind::node_exists);
  CHECK(rejected.at == 1);
  Round round;
  Stat before;
  before.version = 9;
  round.change.check("a");
  round.change.set("b", "text", before);
  rejected = rejected_by(round, {nothing, nothing});
  CHECK(rejected.error.kind == Error::Kind::no_such_node);
  CHECK(rejected.at == 0);
  rejected = rejected_by(round, {range({pair("a", 1, 1)}), range({pair("b", 2, 8)})});
  CHECK(rejected.error.kind == Error::Kind::node_changed);
  CHECK(rejected.at == 1);
  // All is as it should be, and yet it failed.
  rejected = rejected_by(round, {range({pair("a", 1, 1)}), range({pair("b", 2, 9)})});
  CHECK(rejected.error.kind == Error::Kind::other);
  CHECK_FALSE(rejected.at.has_value());
}

TEST_CASE("a change that is asked for again may have been made before") {
  Round round = claim();
  round.change.check("c");
  round.change.erase("d");
  const auto made = [&](const std::string& token, const std::string& run, bool has_d) {
    Json own = pair("p/queue/k/x-1-42", 12, 12, token);
    own["lease"] = "42";
    return answer(false, {range({own}), range({pair("p/runs/k/1", 12, 12, run)}), nothing,
                          has_d ? range({pair("d", 1, 1)}) : nothing, nothing});
  };
  const auto change = [&](const Json& json, Asked asked) {
    return answer_in(json, round, self, asked)->answers.change;
  };
  const auto all = made("1000 1000\ntoken", "1000 1000\nrun", false);
  CHECK_FALSE(static_cast<bool>(change(all, Asked::once)));
  const auto before = change(all, Asked::again);
  REQUIRE(static_cast<bool>(before));
  CHECK(before->made[0].path == "p/queue/k/x-1-42");
  CHECK(before->made[0].stat->created_by == 12);
  CHECK(before->made[0].stat->is_ours);
  // The key of the queue is ours by its name: somebody has asked it to stop.
  CHECK(static_cast<bool>(
      change(made("1000 1001\ntoken\nstop why", "1000 1000\nrun", false), Asked::again)));
  // Others' texts, and a part of it.
  CHECK_FALSE(
      static_cast<bool>(change(made("1000 1000\ntoken", "1000 1000\nother", false), Asked::again)));
  CHECK_FALSE(
      static_cast<bool>(change(made("1000 1000\ntoken", "1000 1000\nrun", true), Asked::again)));
}

TEST_CASE("a text that was asked to be written again") {
  Round round;
  Stat before;
  before.version = 9;
  before.created_ms = 5;
  round.change.set("a", "text", before);
  const auto change = [&](const std::string& value, int version) {
    return answer_in(answer(false, {range({pair("a", 1, version, value)})}), round, self,
                     Asked::again)
        ->answers.change;
  };
  CHECK(static_cast<bool>(change("5 1000\ntext", 11)));
  CHECK(change("5 1001\ntext", 11).error().error.kind == Error::Kind::node_changed);
}

TEST_CASE("reads") {
  Round round;
  round.get("a");
  round.get("b");
  round.children_of("c");
  auto told = answer_in(
      answer(true, {range({pair("a", 1, 2, "3 4\nx")}), nothing, range({pair("c/d", 1, 1)})}),
      round, self);
  REQUIRE(told.has_value());
  CHECK((*told->answers.nodes[0])->text == "x");
  CHECK_FALSE((*told->answers.nodes[1]).has_value());
  CHECK(told->answers.children[0]->names == std::vector<std::string>{"d"});
  // Keys that were not asked for.
  told =
      answer_in(answer(true, {range({pair("z", 1, 2)}), range({pair("b", 1, 1), pair("b", 1, 1)}),
                              range({pair("cd", 1, 1)})}),
                round, self);
  REQUIRE(told.has_value());
  CHECK_FALSE(static_cast<bool>(told->answers.nodes[0]));
  CHECK_FALSE(static_cast<bool>(told->answers.nodes[1]));
  CHECK_FALSE(static_cast<bool>(told->answers.children[0]));
}

TEST_CASE("answers that make no sense") {
  const Round round = claim();
  CHECK_FALSE(answer_in(Json::object(), round, self).has_value());
  CHECK_FALSE(answer_in(answer(true, {put, put}), round, self).has_value());
  CHECK_FALSE(answer_in(answer(true, {}), round, self).has_value());
  CHECK_FALSE(answer_in(Json{{"header", {{"revision", "-1"}}}}, round, self).has_value());
  Json strange = answer(false, {put, put, nothing});
  const auto told = answer_in(strange, round, self);
  REQUIRE(told.has_value());
  CHECK(told->answers.change.error().error.kind == Error::Kind::other);
  strange["responses"] = "x";
  CHECK_FALSE(answer_in(strange, round, self).has_value());
  Round reads;
  reads.get("a");
  CHECK_FALSE(answer_in(answer(false, {nothing}), reads, self).has_value());
}

TEST_CASE("a round of many reads is asked in parts") {
  Round round;
  round.change.check("x");
  for (int i = 0; i < 100; ++i) round.get(std::to_string(i));
  round.queue("q");
  for (int i = 0; i < 70; ++i) round.change.leftovers.emplace_back(std::to_string(i), 1);
  const auto parts = parts_of(round).rounds;
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].change.steps.size() == 1);
  CHECK(parts[1].change.steps.empty());
  CHECK(parts[0].gets.size() == 48);
  CHECK(parts[1].gets.size() == 48);
  CHECK(parts[2].gets.size() == 4);
  CHECK(parts[2].queues.size() == 1);
  CHECK(parts[0].change.leftovers.size() == 32);
  CHECK(parts[2].change.leftovers.size() == 6);
  CHECK(parts_of(Round{}).rounds.size() == 1);
}

}  // namespace unit::etcd_transaction
