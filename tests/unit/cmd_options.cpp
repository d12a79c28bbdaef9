// The table of options holds together, and what is made of it.
#include "cmd/options.hpp"

#include <doctest/doctest.h>

#include <set>

#include "cmd/commands.hpp"
#include "cmd/help_topics.hpp"
#include "cmd/parse.hpp"
#include "hold/environment.hpp"
#include "lines.hpp"

namespace unit::cmd_options {

using cmd::Option;
namespace of = cmd::of;

namespace {

const std::vector<const cmd::Command*> commands{&cmd::run_command,           &cmd::inspect_command,
                                                &cmd::list_command,          &cmd::cancel_command,
                                                &cmd::force_release_command, &cmd::acquire_command,
                                                &cmd::refresh_command,       &cmd::release_command,
                                                &cmd::check_command,         &cmd::doctor_command};

std::vector<std::string> doubts(const std::vector<std::string_view>& environment,
                                cmd::Commands command) {
  std::vector<std::string> names;
  for (const auto& each : cmd::doubtful_variables(environment, command)) {
    using Kind = cmd::VariableDoubt::Kind;
    const char* mark = each.kind == Kind::unknown             ? "?"
                       : each.kind == Kind::command_line_only ? "!"
                                                              : "-";
    names.push_back(mark + each.name);
  }
  return names;
}

}  // namespace

TEST_CASE("no command has two options of one name or of one letter") {
  for (const auto* command : commands) {
    std::set<std::string_view> names;
    std::set<char> letters;
    for (const Option* each : cmd::options_of(command->bit)) {
      CAPTURE(each->name);
      CHECK(names.insert(each->name).second);
      if (each->letter != 0) CHECK(letters.insert(each->letter).second);
    }
  }
}

TEST_CASE("a letter means the same option wherever it is one, but for the -n of log") {
  for (const Option& one : cmd::options) {
    for (const Option& other : cmd::options) {
      // As of head(1) and git-log(1); a log waits for nothing.
      if (one.name == "last" || other.name == "last") continue;
      if (one.letter != 0 && one.letter == other.letter) CHECK(one.name == other.name);
    }
  }
}

TEST_CASE("an option that takes a value does so in every command") {
  for (const Option& one : cmd::options) {
    for (const Option& other : cmd::options) {
      if (one.name == other.name) CHECK(one.takes_value() == other.takes_value());
    }
  }
}

TEST_CASE("every row says what it is for, and some command has it") {
  for (const Option& each : cmd::options) {
    CAPTURE(each.name);
    CHECK_FALSE(each.help.empty());
    CHECK(each.commands != 0);
    CHECK((each.commands & ~(of::all | of::schema)) == 0);
    CHECK((each.has_long_form() || each.letter == each.name[0]));
    CHECK((each.takes_value() || each.standard.empty()));
  }
}

TEST_CASE("every command can be asked for help, and talks to a server") {
  for (const auto* command : commands) {
    std::set<std::string_view> names;
    for (const Option* each : cmd::options_of(command->bit)) names.insert(each->name);
    for (const char* name : {"help", "server", "password-file", "config", "quiet", "verbose"}) {
      CHECK(names.count(name) == 1);
    }
  }
}

TEST_CASE("no line of any help is longer than 80 columns") {
  for (const auto* command : commands) {
    for (const auto& line : lines_of(cmd::help_text(*command))) {
      CAPTURE(line);
      CHECK(line.size() <= cmd::help_width);
    }
  }
}

TEST_CASE("each topic has a text, no wider than 80 columns") {
  for (const auto& topic : cmd::help_topics()) {
    CAPTURE(topic.name);
    const auto text = cmd::topic_text(topic.name);
    REQUIRE(text);
    for (const auto& line : lines_of(*text)) {
      CAPTURE(line);
      CHECK(line.size() <= cmd::help_width);
    }
  }
  CHECK_FALSE(cmd::topic_text("nothing"));
  CHECK(cmd::topic_text("env")->find("RLOCK_CONNECT_TIMEOUT") != std::string::npos);
}

TEST_CASE("the help has each option of the command once, with letter, argument and default") {
  const std::string help = cmd::help_of(of::run);
  CHECK(help.find("\n  -t, --ttl DUR ") != std::string::npos);
  CHECK(help.find("\n      --permits N ") != std::string::npos);
  CHECK(help.find("\n  -c STRING ") != std::string::npos);
  CHECK(help.find("\n      --supersede[=all|waiting]") != std::string::npos);
  CHECK(help.find("--at-least") == std::string::npos);
  CHECK(help.find("(default 30s)\n") != std::string::npos);
  CHECK(cmd::help_of(of::cancel).find("(default 10s)") != std::string::npos);
  for (const Option* each : cmd::options_of(of::run)) {
    if (!each->has_long_form()) continue;
    const std::string name = "--" + std::string{each->name};
    std::size_t times = 0;
    for (const auto& line : lines_of(help)) {
      const auto at = line.find(name);
      const bool whole = at != line.npos && at <= 6 &&
                         (at + name.size() == line.size() || line[at + name.size()] == ' ' ||
                          line[at + name.size()] == '[');
      times += whole ? 1 : 0;
    }
    CAPTURE(name);
    CHECK(times == 1);
  }
}

TEST_CASE("groups are headings in one order, and only where there is something below") {
  const std::string run = cmd::help_of(of::run);
  CHECK(run.starts_with("Lock:\n"));
  CHECK(run.find("\n\nWaiting:\n") < run.find("\n\nJob:\n"));
  CHECK(run.find("\n\nJob:\n") < run.find("\n\nResult:\n"));
  CHECK(run.find("\n\nResult:\n") < run.find("\n\nServer:\n"));
  CHECK(run.find("\n\nServer:\n") < run.find("\n\nGeneral:\n"));
  CHECK(cmd::help_of(of::list).starts_with("Options:\n"));
  CHECK(cmd::help_of(of::list).find("--connect-timeout") == std::string::npos);
  CHECK(cmd::help_of(of::list).find("\n\nOptions of every command: -S URL") != std::string::npos);
  CHECK(cmd::help_of_common().find("--connect-timeout DUR") != std::string::npos);
  CHECK(cmd::help_of(of::cancel).rfind("Options:\n") == 0);
  CHECK(cmd::help_of(of::list).find("Job:") == std::string::npos);
}

TEST_CASE("the longest name has its help beside it") {
  CHECK(cmd::help_of(of::run).find("  -E, --conflict-exit-code N  exit code") != std::string::npos);
}

TEST_CASE("text is wrapped between words, indented, and a word that fits nowhere stays whole") {
  CHECK(cmd::wrapped("one two three", 0, 7) == "one two\nthree");
  CHECK(cmd::wrapped("one two three", 2, 9) == "one two\n  three");
  CHECK(cmd::wrapped("one two", 0, 80) == "one two");
  CHECK(cmd::wrapped("unbreakable x", 2, 5) == "unbreakable\n  x");
  CHECK(cmd::wrapped("", 4, 10).empty());
}

TEST_CASE("variables are named after the long options") {
  CHECK(cmd::variable_of("ttl") == "RLOCK_TTL");
  CHECK(cmd::variable_of("conflict-exit-code") == "RLOCK_CONFLICT_EXIT_CODE");
}

TEST_CASE("config files have what is for every day, and nothing that is for one run") {
  for (const char* name : {"server", "ttl", "wait", "local-gate", "label", "quiet", "supersede"}) {
    CHECK(cmd::may_stand_in_config(name));
  }
  for (const char* name : {"key", "config", "token", "json", "watch", "one-of", "nothing", ""}) {
    CHECK_FALSE(cmd::may_stand_in_config(name));
  }
  const std::string names = cmd::names_in_config();
  CHECK(names.find("local-gate") != std::string::npos);
  CHECK(names.find("ttl") == names.rfind("ttl"));
}

TEST_CASE("of what a config file may have, servers may stand there several times") {
  CHECK(cmd::may_repeat_in_config("server"));
  CHECK(cmd::names_to_repeat_in_config() == "server");
  for (const char* name : {"ttl", "key", "nothing", ""}) {
    CAPTURE(name);
    CHECK_FALSE(cmd::may_repeat_in_config(name));
  }
}

TEST_CASE("an option is written as on a command line") {
  CHECK(cmd::written(*cmd::options_of(of::run).front()) == "--key");
  for (const Option& each : cmd::options) {
    if (each.name == "c") CHECK(cmd::written(each) == "-c");
  }
}

TEST_CASE("a RLOCK_ variable that is no option's is doubtful") {
  CHECK(doubts({"RLOCK_TLL=5s", "PATH=/bin", "RLOCK_EMPTY=", "RLOCKTTL=1", "RLOCK_NO_VALUE"},
               of::run) == std::vector<std::string>{"?RLOCK_TLL"});
  CHECK(
      doubts({"RLOCK_TTL=5s", "RLOCK_SERVER=file:", "RLOCK_BIN=/usr/bin/rlock"}, of::run).empty());
}

TEST_CASE("a variable of an option that only the command line has is refused by its commands") {
  CHECK(doubts({"RLOCK_SHARED=1"}, of::run) == std::vector<std::string>{"!RLOCK_SHARED"});
  CHECK(doubts({"RLOCK_JSON=1"}, of::list) == std::vector<std::string>{"!RLOCK_JSON"});
  // The run's comes from a variable; cancel's does not, and the variable is the run's.
  CHECK(doubts({"RLOCK_WAIT=10m"}, of::cancel).empty());
}

TEST_CASE("a variable of an option that only other commands' lines have is read by nobody") {
  CHECK(doubts({"RLOCK_SHARED=1"}, of::inspect) == std::vector<std::string>{"-RLOCK_SHARED"});
  CHECK(doubts({"RLOCK_AT_LEAST=5m", "RLOCK_TTL=5s"}, of::run) ==
        std::vector<std::string>{"-RLOCK_AT_LEAST"});
  CHECK(cmd::doubtful_variables({"RLOCK_C=x"}, of::list).front().option == "-c");
  // Some command reads it.
  CHECK(doubts({"RLOCK_TTL=5s", "RLOCK_LABEL=x"}, of::list).empty());
}

TEST_CASE("the variables of a job are not doubtful") {
  const auto name = *store::LockName::from("key");
  const auto token = store::Token::foreign("app@host:1/x#0");
  const store::Lease one{name, token, *store::Ttl::from(base::Millis{1000}),
                         base::Deadline::never(), 7};
  for (const auto& leases : {std::vector{one}, std::vector{one, one}}) {
    const auto told = hold::job_environment(leases, {"redis://h", store::ServerUrl{"redis://h"}});
    std::vector<std::string_view> variables;
    for (const auto& each : told) {
      if (each.starts_with("RLOCK_")) variables.push_back(each);
    }
    CHECK(variables.size() >= 5);
    CHECK(doubts(variables, of::run).empty());
    CHECK(doubts(variables, of::cancel).empty());
  }
}

TEST_CASE("the proposal is near to the word that was typed") {
  const std::vector<std::string_view> known{"ttl", "wait", "wait-all", "inspect", "list"};
  CHECK(cmd::likely_meant("tll", known) == "ttl");
  CHECK(cmd::likely_meant("wiat", known) == "wait");         // two letters swapped
  CHECK(cmd::likely_meant("wait-al", known) == "wait-all");  // one forgotten
  CHECK(cmd::likely_meant("inspectt", known) == "inspect");  // one too many
  CHECK(cmd::likely_meant("inzpekt", known) == "inspect");   // two changed
  CHECK(cmd::likely_meant("ls", known).empty());
  CHECK(cmd::likely_meant("insp", known) == "inspect");  // its beginning
  CHECK(cmd::likely_meant("in", known).empty());
  CHECK(cmd::likely_meant("deploy", known).empty());
  CHECK(cmd::likely_meant("", known).empty());
}

}  // namespace unit::cmd_options
