// The completions offered after the typed words.
#include "cmd/completion.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "cmd/help_topics.hpp"
#include "cmd/parse.hpp"

namespace unit::cmd_completion {

using Kind = cmd::Completion::Kind;
using Words = std::vector<std::string>;

namespace {

/// A server that holds these, whatever is asked of it, and that remembers how it was asked.
struct Server {
  Words held{"batch:one", "deploy"};
  Words asked_with{};
  cmd::Commands asked_by = 0;

  cmd::Completion complete(const Words& words) {
    return cmd::completion_of(
        words, [this](const std::string& /*prefix*/, cmd::Commands command, const Words& options) {
          asked_with = options;
          asked_by = command;
          return held;
        });
  }
};

Words offered(const Words& words) {
  Words texts;
  const auto completion = Server{}.complete(words);
  CHECK(completion.kind == Kind::words);
  for (const auto& each : completion.words) texts.push_back(each.text);
  return texts;
}

bool offers(const Words& words, const std::string& text) {
  const auto all = offered(words);
  return std::find(all.begin(), all.end(), text) != all.end();
}

std::size_t command_at(const Words& words) {
  const auto completion = Server{}.complete(words);
  CHECK(completion.kind == Kind::command);
  return completion.begin;
}

const Words keys{"batch:one", "deploy"};

}  // namespace

TEST_CASE("without a key the first word is a subcommand") {
  const auto all = offered({""});
  CHECK(all.size() == cmd::all_subcommands().size() + 1);
  CHECK(offered({"ins"}) == Words{"inspect"});
  CHECK(offered({"re"}) == Words{"refresh", "release"});
  CHECK(offered({"nothing"}).empty());
  CHECK(offered({"-S", "redis://h", "ins"}) == Words{"inspect"});
  CHECK(offered({"help", "ins"}) == Words{"inspect"});
  CHECK(offered({"help", "inspect", ""}).size() == all.size() + cmd::help_topics().size());
  CHECK(offered({"help", "exit"}) == Words{"exit-codes"});
}

TEST_CASE("a word with a dash is an option of the command, with its help, and not twice") {
  CHECK(offered({"--wait-"}) == Words{"--wait-all"});
  CHECK(offered({"inspect", "--js"}) == Words{"--json"});
  CHECK(offered({"inspect", "deploy", "--js"}) == Words{"--json"});
  CHECK(offered({"inspect", "--json", "--js"}).empty());
  CHECK(offered({"-k", "a", "--ke"}) == Words{"--key"});  // may be repeated
  CHECK_FALSE(offers({"list", "-"}, "--ttl"));
  CHECK(offers({"list", "-"}, "--sort"));
  CHECK_FALSE(Server{}.complete({"--tt"}).words.front().help.empty());
}

TEST_CASE("behind -k KEY a command line of its own begins") {
  CHECK(command_at({"-k", "a", ""}) == 2);
  CHECK(command_at({"-k", "a", "--", "ma"}) == 3);
  CHECK(command_at({"-k", "a", "make", "--js"}) == 2);
  CHECK(command_at({"-k", "a", "inspect", ""}) == 2);
  CHECK(command_at({"--key=a", "-n", "--", "make", "all", ""}) == 3);
}

TEST_CASE("a value is completed as what it is") {
  CHECK(offered({"-k", ""}) == keys);
  CHECK(offered({"--key=de"}) == Words{"deploy"});
  CHECK(offered({"-w", "f"}) == Words{"forever"});
  CHECK(offered({"--on-lost", ""}) == Words{"stop", "warn"});
  CHECK(offered({"--on-lost=w"}) == Words{"warn"});
  CHECK(offered({"list", "--sort", ""}) == Words{"key", "age", "ttl", "waiting"});
  CHECK(offered({"-S", "zk"}) == Words{"zk://"});
  CHECK(offered({"-S", "e"}) == Words{"etcd://", "etcds://"});
  CHECK(offered({"--ttl", ""}).empty());
  CHECK(offered({"cancel", "--wait", ""}).empty());
  CHECK(Server{}.complete({"--status-file", ""}).kind == Kind::files);
  CHECK(Server{}.complete({"--config=x"}).kind == Kind::files);
}

TEST_CASE("a key is offered where a command takes one") {
  for (const char* command : {"inspect", "cancel", "force-release", "release", "refresh", "check",
                              "list", "log", "overdue", "doctor"}) {
    CAPTURE(command);
    CHECK(offered({command, ""}) == keys);
    CHECK(offered({command, "de"}) == Words{"deploy"});
  }
  CHECK(offered({"cancel", "deploy", ""}).empty());
  CHECK(offered({"list", "deploy", ""}) == keys);
  CHECK(offered({"cancel", "--", "de"}) == Words{"deploy"});
  CHECK(offered({"acquire", ""}).empty());
}

TEST_CASE("a key is offered as it has to be typed") {
  Server server{{"--yes", "a*b", "a\\"}};
  const auto texts = [&](const Words& words) {
    Words all;
    for (const auto& each : server.complete(words).words) all.push_back(each.text);
    return all;
  };
  CHECK(texts({"cancel", ""}) == Words{"a*b", "a\\"});
  CHECK(texts({"cancel", "--", ""}) == server.held);
  CHECK(texts({"list", "a\\*"}) == Words{"a\\*b"});
  CHECK(texts({"log", "a"}) == Words{"a\\*b", "a\\\\"});
  CHECK(texts({"metrics", "x", "a*"}).empty());
}

TEST_CASE("keys come from the server that is on the command line") {
  Server server;
  (void)server.complete({"-S", "redis://a", "cancel", "-q", "--server=redis://b", "--wait", "5s",
                         "--config", "f", ""});
  CHECK(server.asked_with == Words{"--server=redis://a", "--server=redis://b", "--config=f"});
  CHECK(server.asked_by == cmd::of::cancel);
}

}  // namespace unit::cmd_completion
