// argv, split; which command it is; what is scrubbed from it.
#include "cmd/parse.hpp"

#include <doctest/doctest.h>

#include "cmd/server_options.hpp"
#include "surroundings.hpp"

namespace unit::cmd_parse {

using Words = std::vector<std::string>;
namespace of = cmd::of;

namespace {

cmd::SplitArgv split(const Words& argv, cmd::Commands command = of::run) {
  return cmd::split_argv(argv, cmd::Settings{"", command});
}

Words names_of(const cmd::SplitArgv& words) {
  Words names;
  for (const auto* each : words.meant) names.emplace_back(each->name);
  return names;
}

/// The error's line; of an answer its first words, of something to do "act".
std::string outcome(const Words& argv) {
  const Surroundings around;
  try {
    const auto parsed = cmd::parse(argv);
    const auto* answer = std::get_if<cmd::Answer>(&parsed);
    return answer ? answer->text.substr(0, answer->text.find('\n')) : "act";
  } catch (const cmd::UsageError& error) {
    return error.line;
  }
}

std::string scrubbed(Words words) {
  std::vector<char*> pointers;
  for (auto& each : words) pointers.push_back(each.data());
  cmd::scrub_argv(pointers);
  std::string text;
  for (const auto& each : words) text += (text.empty() ? "" : " ") + each;
  return text;
}

}  // namespace

TEST_CASE("options end at the first operand") {
  const auto words = split({"-k", "a", "-n", "echo", "-k", "b", "--", "c"});
  CHECK(words.options == Words{"-k", "a", "-n"});
  CHECK(words.operands == Words{"echo", "-k", "b", "--", "c"});
  CHECK(names_of(words) == Words{"key", "nonblock"});
  CHECK_FALSE(words.ended);
}

TEST_CASE("one -- goes, every later one is an operand") {
  const auto words = split({"-n", "--", "--", "-x"});
  CHECK(words.options == Words{"-n"});
  CHECK(words.operands == Words{"--", "-x"});
  CHECK(words.ended);
  CHECK(split({"--"}).operands.empty());
  CHECK(split({"-"}).operands == Words{"-"});
  CHECK(split({"", "x"}).operands == Words{"", "x"});
}

TEST_CASE("a value that need not be there stands behind an equals sign only") {
  const auto bare = split({"--supersede", "waiting"});
  CHECK(bare.options == Words{"--supersede", "all"});
  CHECK(bare.operands == Words{"waiting"});
  CHECK(split({"--supersede=waiting", "x"}).options == Words{"--supersede", "waiting"});
  CHECK(split({"--supersede=", "x"}).options == Words{"--supersede", ""});
  CHECK(split({"--supersede", "--", "x"}).operands == Words{"x"});
  CHECK(split({"--supersede"}).options == Words{"--supersede", "all"});
}

TEST_CASE("a value may be glued, the next word, or behind an equals sign") {
  CHECK(split({"-ka", "x"}).options == Words{"-ka"});
  CHECK(split({"-k", "--", "x"}).options == Words{"-k", "--"});
  CHECK(split({"--key=--x", "y"}).options == Words{"--key", "--x"});
  CHECK(split({"--key", "-n", "y"}).options == Words{"--key", "-n"});
  CHECK(split({"--key"}).options == Words{"--key"});
  CHECK(split({"-nk", "a", "x"}).options == Words{"-nk", "a"});
  CHECK(split({"-nka", "x"}).options == Words{"-nka"});
  CHECK(split({"--ttl=", "x"}).options == Words{"--ttl", ""});
}

TEST_CASE("a letter in an attached value is no option") {
  CHECK(names_of(split({"-Sunix:///k.sock"})) == Words{"server"});
  CHECK(names_of(split({"-nkt"})) == Words{"nonblock", "key"});
  CHECK(names_of(split({"-Zn"})) == Words{"nonblock"});
  CHECK(names_of(split({"--frobnicate=k"})).empty());
  CHECK(names_of(split({"--quiet=no"})).empty());
}

TEST_CASE("without a key the first operand is a command of rlock's") {
  CHECK(outcome({"-Sunix:///k.sock", "inspect", "a"}) == "act");
  CHECK(outcome({"-S", "unix:///k.sock", "inspect", "a"}) == "act");
  CHECK(outcome({"inspect", "a", "--json"}) == "act");
  CHECK(outcome({"-v", "inspect", "--", "a"}) == "act");
  CHECK(outcome({"inspect", "--", "a", "--json"}) == "unexpected argument '--json'; give one KEY");
  CHECK(outcome({"-w", "5s", "inspect", "a"}).starts_with("unknown option '-w'"));
  CHECK(outcome({"-k", "a", "inspect"}) == "act");
  CHECK(outcome({"-nkinspect", "inspect"}) == "act");
}

TEST_CASE("a word that is no command is said to be none, with what was probably meant") {
  CHECK(outcome({}).starts_with("nothing to do"));
  CHECK(outcome({"inspct", "a"}) ==
        "unknown command 'inspct' (did you mean 'inspect'?); to run a program: rlock -k KEY -- "
        "inspct a");
  CHECK(outcome({"frobnicate"}) ==
        "unknown command 'frobnicate'; to run a program: rlock -k KEY -- frobnicate");
  CHECK(outcome({"inspect", "--jsn", "a"}) == "unknown option '--jsn'; did you mean '--json'?");
}

TEST_CASE("help and version are answers, whatever else is wrong") {
  CHECK(outcome({"--help"}).starts_with("run COMMAND"));
  CHECK(outcome({"-h", "-k", ""}).starts_with("run COMMAND"));
  CHECK(outcome({"inspect", "--help"}).starts_with("show who holds"));
  CHECK(outcome({"-h", "check"}).starts_with("inside a job"));
  CHECK(outcome({"-V"}).starts_with("rlock "));
  CHECK(outcome({"inspect", "-V"}).starts_with("unknown option '-V'"));
}

TEST_CASE("help is an answer for every command, and says so if there is no such command") {
  CHECK(outcome({"help"}) == outcome({"--help"}));
  CHECK(outcome({"help", "inspect"}) == outcome({"inspect", "--help"}));
  CHECK(outcome({"help", "help"}) == outcome({"--help"}));
  CHECK(outcome({"help", "inspct"}) ==
        "unknown command 'inspct' (did you mean 'inspect'?); for a list: rlock help");
  CHECK(outcome({"-k", "a", "help"}) == "act");
}

TEST_CASE("flock's names of our options mean the same, and its other options get a hint") {
  CHECK(split({"--nb", "x"}).options == Words{"--nonblock"});
  CHECK(split({"--nonblocking"}).options == Words{"--nonblock"});
  CHECK(split({"--timeout", "5", "x"}).options == Words{"--wait", "5"});
  CHECK(split({"--timeout=5", "x"}).options == Words{"--wait", "5"});
  CHECK(split({"-ne", "-k", "e", "x"}).options == Words{"-nx", "-k", "e"});
  CHECK(split({"-ke", "x"}).options == Words{"-ke"});
  CHECK(split({"-e", "x"}, of::inspect).options == Words{"-e"});
  CHECK(outcome({"-o", "-k", "a", "x"}) ==
        "unknown option '-o' of flock; leave it out: the job inherits no descriptor of the lock");
  CHECK(outcome({"-u", "9"}) ==
        "unknown option '-u' of flock; to release a lock of 'rlock acquire': rlock release -k KEY");
  CHECK(outcome({"--command", "x"}) == "unknown option '--command' of flock; write -c STRING");
  CHECK(outcome({"--timeout", "5", "inspect", "a"}).starts_with("unknown option '--wait'"));
}

TEST_CASE("what flock locks instead of a key gets a hint") {
  CHECK(outcome({"9"}) ==
        "rlock locks a key and not file descriptor 9; for a script: "
        "eval \"$(rlock acquire -k KEY -w forever --ttl 30m --export)\" || exit; at its end: rlock "
        "release");
  CHECK(outcome({"-n", "-s", "9"}).find("rlock acquire -n -s -k KEY --ttl") != std::string::npos);
  CHECK(outcome({"-n", "/var/lock/my job", "make", "all"}) ==
        "no -k KEY given; to lock '/var/lock/my job' as flock does: rlock -n -k '/var/lock/my job' "
        "-- make all");
  const auto instead = [](const std::vector<std::string>& argv) {
    const auto said = outcome(argv);
    return said.substr(std::min(said.size(), said.find("does: ") + 6));
  };
  CHECK(instead({"/l", "make"}) == "rlock -k /l -w forever -- make");
  CHECK(instead({"-e", "--timeout", "5", "/l", "--", "make"}) == "rlock -x --wait 5 -k /l -- make");
  CHECK(instead({"-E", "9", "-n", "/l", "-c", "a b"}) == "rlock -E 9 -n -k /l -c 'a b'");
  CHECK(instead({"-S", "redis://u:secret@h", "-n", "/l", "make"}).find("secret") ==
        std::string::npos);
  CHECK(outcome({"./job.sh"}) ==
        "unknown command './job.sh'; to run a program: rlock -k KEY -- ./job.sh");
  CHECK(outcome({"sleep", "5"}).ends_with("to run a program: rlock -k KEY -- sleep 5"));
  CHECK(outcome({"--supersede", "waiting", "-k", "a", "make"}) ==
        "no -k KEY given; a value of --supersede stands behind an equals sign: "
        "--supersede=waiting");
}

TEST_CASE("whatever is wrong with acquire --export, its output makes the eval fail") {
  const Surroundings around;
  const auto act = cmd::parse({"acquire", "--export", "-k", "deploy"});
  REQUIRE(std::holds_alternative<cmd::Act>(act));
  std::string line;
  {
    const StdoutTo file{around / "stdout"};
    try {
      (void)std::get<cmd::Act>(act)();
    } catch (const cmd::UsageError& error) {
      line = error.line;
    }
  }
  CHECK(around.read("stdout") == "(exit 64)\n");
  CHECK(line.starts_with("no --ttl given"));
  // Who evaluates nothing is told at once.
  CHECK(outcome({"acquire", "-k", "deploy"}).starts_with("no --ttl given"));
  CHECK(outcome({"acquire", "--export", "-h"}).starts_with("take a lock"));
}

TEST_CASE("passwords of URLs are overwritten in our own arguments, and nowhere else") {
  CHECK(scrubbed({"-S", "redis://u:pw@h/0", "x"}) == "-S redis://****@h/0 x");
  CHECK(scrubbed({"redis+sentinel://h/m?sentinel-password=pw&x=1"}) ==
        "redis+sentinel://h/m?sentinel-password=**&x=1");
  CHECK(scrubbed({"a@b", "--", "redis://u:pw@h"}) == "a@b -- redis://u:pw@h");
  CHECK(scrubbed({"u@redis://h"}) == "u@redis://h");
}

}  // namespace unit::cmd_parse
