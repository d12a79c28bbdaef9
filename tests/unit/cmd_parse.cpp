// argv, split; which command it is; what is scrubbed from it.
#include "cmd/parse.hpp"

#include <doctest/doctest.h>

#include "cmd/server_options.hpp"
#include "surroundings.hpp"

namespace unit::cmd_parse {

using Words = std::vector<std::string>;
namespace of = cmd::of;

namespace {

/// The meaning of a command line: "name" or "name=value" for each option, then the operands.
struct Meaning {
  Words options{};
  cmd::Operands operands{};
};

Meaning meaning(const Words& argv, cmd::Commands command = of::run,
                cmd::OptionsStand where = cmd::OptionsStand::before_operands) {
  cmd::Settings settings{"", command};
  Meaning found;
  found.operands = settings.parse(argv, where);
  for (const auto& [option, value] : settings.given()) {
    found.options.push_back(std::string{option->name} + (option->takes_value() ? "=" + value : ""));
  }
  return found;
}

Words options_in(const Words& argv, cmd::Commands command = of::run) {
  return meaning(argv, command).options;
}

Words operands_in(const Words& argv) {
  return meaning(argv).operands.words;
}

std::string mistake_in(const Words& argv) {
  return meaning(argv).operands.mistake;
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
  const auto found = meaning({"-k", "a", "-n", "echo", "-k", "b", "--", "c"});
  CHECK(found.options == Words{"key=a", "nonblock"});
  CHECK(found.operands.words == Words{"echo", "-k", "b", "--", "c"});
  CHECK_FALSE(found.operands.ended);
}

TEST_CASE("one -- goes, every later one is an operand") {
  const auto found = meaning({"-n", "--", "--", "-x"});
  CHECK(found.options == Words{"nonblock"});
  CHECK(found.operands.words == Words{"--", "-x"});
  CHECK(found.operands.ended);
  CHECK(operands_in({"--"}).empty());
  CHECK(operands_in({"-"}) == Words{"-"});
  CHECK(operands_in({"", "x"}) == Words{"", "x"});
  CHECK(operands_in({"--", "-x"}) == Words{"-x"});
}

TEST_CASE("operands keep every byte") {
  const Words job{"job", "--ttl=", "", "[a,b]", "%d", "a\nb", "--", "--", "-k", "++", "{}", "\xff"};
  Words argv{"-k", "a", "--"};
  argv.insert(argv.end(), job.begin(), job.end());
  CHECK(operands_in(argv) == job);
  argv.erase(argv.begin() + 2);
  CHECK(operands_in(argv) == job);
}

TEST_CASE("the options of a subcommand stand around its operands, and end at --") {
  const auto around = [](const Words& argv) {
    return meaning(argv, of::release, cmd::OptionsStand::anywhere);
  };
  const auto found = around({"a", "b", "c", "--token", "t", "d", "-q"});
  CHECK(found.options == Words{"token=t", "quiet"});
  CHECK(found.operands.words == Words{"a", "b", "c", "d"});
  CHECK(around({"a", "--", "b", "-q", "--"}).operands.words == Words{"a", "b", "-q", "--"});
  CHECK(around({"a", "--", "b", "-q"}).options.empty());
  CHECK(around({"a", "--tkn", "b"}).operands.mistake.starts_with("unknown option '--tkn'"));
}

TEST_CASE("a value that need not be there stands behind an equals sign only") {
  CHECK(options_in({"--supersede", "waiting"}) == Words{"supersede=all"});
  CHECK(operands_in({"--supersede", "waiting"}) == Words{"waiting"});
  CHECK(options_in({"--supersede=waiting", "x"}) == Words{"supersede=waiting"});
  CHECK(options_in({"--supersede=", "x"}) == Words{"supersede="});
  CHECK(operands_in({"--supersede", "--", "x"}) == Words{"x"});
  CHECK(options_in({"--supersede"}) == Words{"supersede=all"});
}

TEST_CASE("a value may be glued, the next word, or behind an equals sign") {
  CHECK(options_in({"-ka", "x"}) == Words{"key=a"});
  CHECK(options_in({"-k", "--", "x"}) == Words{"key=--"});
  CHECK(operands_in({"-k", "--", "--", "x"}) == Words{"x"});
  CHECK(options_in({"--key=--x", "y"}) == Words{"key=--x"});
  CHECK(options_in({"--key", "-n", "y"}) == Words{"key=-n"});
  CHECK(options_in({"-k", "--ttl=", "y"}) == Words{"key=--ttl="});
  CHECK(options_in({"-nk", "a", "x"}) == Words{"nonblock", "key=a"});
  CHECK(options_in({"-nka", "x"}) == Words{"nonblock", "key=a"});
  CHECK(options_in({"--ttl=", "x"}) == Words{"ttl="});
  CHECK(operands_in({"--ttl=", "x"}) == Words{"x"});
  CHECK(options_in({"--label=a=", "x"}) == Words{"label=a="});
  CHECK(options_in({"-k", ""}) == Words{"key="});
  CHECK(mistake_in({"--key"}) == "option '--key' needs a value: KEY");
}

TEST_CASE("a letter in an attached value is no option") {
  CHECK(options_in({"-Sunix:///k.sock"}) == Words{"server=unix:///k.sock"});
  CHECK(options_in({"-nkt"}) == Words{"nonblock", "key=t"});
  CHECK(options_in({"-Zn"}).empty());
  CHECK(options_in({"--frobnicate=k"}).empty());
  CHECK(options_in({"--quiet=no"}).empty());
  CHECK(mistake_in({"--quiet=no", "-k", "a"}) == "option '--quiet' takes no value");
  CHECK(mistake_in({"-Zn"}).starts_with("unknown option '-Z"));
}

TEST_CASE("the first mistake is the one that is told") {
  CHECK(mistake_in({"--frob", "--grob", "-k", "a"}).starts_with("unknown option '--frob'"));
  CHECK(mistake_in({"-k", "a", "--frob", "x", "--grob"}).starts_with("unknown option '--frob'"));
  CHECK(mistake_in({"-k", "a", "--", "--frob"}).empty());
  CHECK(mistake_in({"-k", "a", "x", "--frob"}).empty());
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

TEST_CASE("an unknown command is refused with the command line that was probably meant") {
  CHECK(outcome({}) == "act");
  CHECK(outcome({"-v"}).starts_with("nothing to do"));
  CHECK(outcome({"inspct", "a"}) == "unknown command 'inspct'; did you mean: rlock inspect a");
  CHECK(outcome({"ls"}) == "unknown command 'ls'; did you mean: rlock list");
  CHECK(outcome({"-S", "file:", "ls", "a b*"}) ==
        "unknown command 'ls'; did you mean: rlock -S file: list 'a b*'");
  CHECK(outcome({"status"}) == "unknown command 'status'; did you mean: rlock list");
  CHECK(outcome({"status", "a"}) == "unknown command 'status'; did you mean: rlock inspect a");
  CHECK(outcome({"unlock", "a"}) ==
        "unknown command 'unlock'; did you mean: rlock release a, or for the lock of another: "
        "rlock force-release a");
  CHECK(outcome({"kill", "a"}) == "unknown command 'kill'; did you mean: rlock cancel a");
  CHECK(outcome({"run", "--", "make", "all"}) ==
        "unknown command 'run'; to run a program: rlock -k KEY -- make all");
  CHECK(outcome({"-w", "3", "make", "all"}) ==
        "unknown command 'make'; to run a program: rlock -w 3 -k KEY -- make all");
  CHECK(outcome({"-w", "3", "--", "true"}) ==
        "no -k KEY given; to run a program: rlock -w 3 -k KEY -- true");
  CHECK(outcome({"lock", "a"}) ==
        "unknown command 'lock'; did you mean: rlock acquire -k a --ttl 30m");
  CHECK(outcome({"-S", "file:", "lock", "a", "make"}) ==
        "unknown command 'lock'; to run a program: rlock -S file: -k a -- make");
  CHECK(outcome({"timeline", "a"}) ==
        "unknown command 'timeline'; did you mean: rlock log --timeline a");
  CHECK(outcome({"version"}) == "unknown command 'version'; did you mean: rlock --version");
  CHECK(outcome({"frobnicate"}) ==
        "unknown command 'frobnicate'; to run a program: rlock -k KEY -- frobnicate");
  CHECK(outcome({"inspect", "--jsn", "a"}) == "unknown option '--jsn'; did you mean '--json'?");
}

TEST_CASE("a duration whose unit stands apart is no command") {
  CHECK(outcome({"-k", "a", "-w", "2", "h", "make"}) == "--wait 2 h: write 2h without a blank");
  CHECK(outcome({"-w", "2", "h"}) == "--wait 2 h: write 2h without a blank");
  CHECK(outcome({"-k", "a", "-w", "2h", "h"}) == "act");
  CHECK(outcome({"-k", "a", "-w", "2", "--", "h"}) == "act");
  CHECK(outcome({"-k", "a", "-E", "2", "h"}) == "act");
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
  CHECK(outcome({"help", "--help"}) == outcome({"--help"}));
  CHECK(outcome({"help", "inspct"}) ==
        "unknown command 'inspct' (did you mean 'inspect'?); for a list: rlock help");
  CHECK(outcome({"help", "slot"}).starts_with("--slot runs a job"));
  CHECK(outcome({"help", "exit"}) == outcome({"help", "exit-codes"}));
  CHECK(outcome({"help", "flock"}).starts_with("rlock -S file: locks on one host"));
  CHECK(outcome({"help", "wait"}).starts_with("  -w, --wait DUR "));
  CHECK(outcome({"help", "--ttl"}).starts_with("  -t, --ttl DUR "));
  CHECK(outcome({"-k", "a", "help"}) == "act");
}

TEST_CASE("flock's names of our options mean the same, and its other options get a hint") {
  CHECK(options_in({"--nb", "x"}) == Words{"nonblock"});
  CHECK(options_in({"--nonblocking"}) == Words{"nonblock"});
  CHECK(options_in({"--timeout", "5", "x"}) == Words{"wait=5"});
  CHECK(options_in({"--timeout=5", "x"}) == Words{"wait=5"});
  CHECK(options_in({"-ne", "-k", "e", "x"}) == Words{"nonblock", "exclusive", "key=e"});
  CHECK(options_in({"-ke", "x"}) == Words{"key=e"});
  CHECK(options_in({"-e", "x"}, of::inspect).empty());
  CHECK(outcome({"-o", "-k", "a", "x"}) ==
        "unknown option '-o' of flock; leave it out: the job inherits no descriptor of the lock");
  CHECK(outcome({"-u", "9"}) ==
        "unknown option '-u' of flock; to release a lock of 'rlock acquire': rlock release -k KEY");
  CHECK(outcome({"--command", "x"}) == "unknown option '--command' of flock; write -c STRING");
  CHECK(outcome({"--timeout", "5", "inspect", "a"}).starts_with("unknown option '--timeout'"));
}

TEST_CASE("a file or a descriptor in place of a key gets a hint") {
  CHECK(outcome({"9"}) ==
        "rlock locks a key and not file descriptor 9; for a script: "
        "eval \"$(rlock acquire -k KEY -w forever --ttl 30m --export)\" || exit; at its end: rlock "
        "release");
  CHECK(outcome({"-S", "file:", "9"}) ==
        "rlock locks a key and not file descriptor 9; rlock-recipes(7) has a script that locks "
        "itself");
  CHECK(outcome({"-n", "-s", "9"}).find("rlock acquire -n -s -k KEY --ttl") != std::string::npos);
  CHECK(outcome({"-n", "/var/lock/my job", "make", "all"}) ==
        "no -k KEY given; to lock '/var/lock/my job' as flock does: rlock -S file: -n -k "
        "'/var/lock/my job' "
        "-- make all");
  const auto instead = [](const std::vector<std::string>& argv) {
    const auto said = outcome(argv);
    return said.substr(std::min(said.size(), said.find("does: ") + 6));
  };
  CHECK(instead({"/l", "make"}) == "rlock -S file: -k /l -w forever -- make");
  CHECK(instead({"-e", "--timeout", "5", "/l", "--", "make"}) ==
        "rlock -S file: -x -w 5 -k /l -- make");
  CHECK(instead({"-E", "9", "-n", "/l", "-c", "a b"}) == "rlock -S file: -E 9 -n -k /l -c 'a b'");
  CHECK(instead({"-S", "redis://u:secret@h", "-n", "/l", "make"}).find("secret") ==
        std::string::npos);
  CHECK(outcome({"./job.sh"}) ==
        "unknown command './job.sh'; to run a program: rlock -k KEY -- ./job.sh");
  CHECK(outcome({"sleep", "5"}).ends_with("to run a program: rlock -k KEY -- sleep 5"));
  CHECK(outcome({"--supersede", "waiting", "-k", "a", "make"}) ==
        "no -k KEY given; a value of --supersede stands behind an equals sign: "
        "--supersede=waiting");
  CHECK(outcome({"-k", "a", "--supersede", "waiting", "--", "make"}) ==
        "a value of --supersede stands behind an equals sign: --supersede=waiting");
  CHECK(outcome({"-k", "a", "--supersede", "--", "waiting"}).starts_with("cannot run 'waiting'"));
}

TEST_CASE("after any failure of acquire --export, its output makes the eval fail") {
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
  // A caller that evaluates nothing gets the error at once.
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
