// Lines of config files.
#include "cmd/config_file.hpp"

#include <doctest/doctest.h>

#include "cmd/report.hpp"
#include "surroundings.hpp"

namespace unit::cmd_config_file {

namespace {

cmd::Config config_of(std::string_view text) {
  cmd::Config config;
  cmd::read_config_text(config, "/f", text);
  return config;
}

std::string refusal(std::string_view text) {
  try {
    (void)config_of(text);
  } catch (const cmd::UsageError& error) {
    CHECK(error.code == cmd::ExitCode::bad_config);
    return error.line;
  }
  return "";
}

}  // namespace

TEST_CASE("a config line is a name, an equals sign and the rest of the line") {
  const auto config = config_of("# fleet\nttl=100s\n\n  label =  night batch \r\nserver = a=b");
  CHECK(config.size() == 3);
  CHECK(config.at("ttl").text == "100s");
  CHECK(config.at("ttl").where == "/f:2");
  CHECK(config.at("label").text == "night batch");
  CHECK(config.at("server").text == "a=b");
  CHECK(config.at("server").where == "/f:5");
}

TEST_CASE("blank lines, comments and a file without an end of line are fine") {
  CHECK(config_of("").empty());
  CHECK(config_of("\n \n#x\n  # y").empty());
  CHECK(config_of("ttl =").at("ttl").text.empty());
}

TEST_CASE("several servers are a quorum, every other name stands once in a file") {
  CHECK(config_of("server = a\nttl = 1s\nserver = b\nserver = c").at("server").text == "a b c");
  CHECK(refusal("ttl = 1s\nttl = 2s\n").starts_with("/f:2: 'ttl' is set twice; only server"));
}

TEST_CASE("a value that an earlier file has stays") {
  auto config = config_of("ttl = 1s\n");
  CHECK(config.at("ttl").text == "1s");
  cmd::read_config_text(config, "/g", "ttl = 3s\nwait = 4s\n", 1);
  CHECK(config.at("ttl").where == "/f:1");
  CHECK(config.at("wait").where == "/g:2");
}

TEST_CASE("a NUL is refused, with file and line, wherever it stands but in a comment") {
  using namespace std::string_literals;
  const std::string why = "/f:2: '…' is not valid; expected text without a NUL byte";
  CHECK(refusal("\nserver = file:///locks\0/../other"s) == why);
  CHECK(refusal("\nser\0ver = redis://h"s) == why);
  CHECK(refusal("\nlabel = x\0"s) == why);
  CHECK(config_of("# \0\nttl = 3s"s).at("ttl").text == "3s");
}

TEST_CASE("a line that is none says where, and shows no more than a name") {
  CHECK(refusal("\nhunter2") == "/f:2: '…' is not valid; expected 'name = value' or a '# comment'");
  CHECK(refusal("flavour = red").starts_with("/f:1: 'flavour' is not valid; expected "));
  CHECK(refusal("colour = red") == "/f:1: 'colour' is not valid; did you mean 'color'?");
  CHECK(refusal("TTL = 5s") == "/f:1: 'TTL' is not valid; did you mean 'ttl'?");
  CHECK(refusal("Wiat = 5s").starts_with("/f:1: '…' is not valid; expected "));
  CHECK(refusal("Hunter2 = x").starts_with("/f:1: '…' is not valid; expected "));
  CHECK(refusal("= 5").starts_with("/f:1: '' is not valid; expected "));
  CHECK(refusal("key = x").find("local-gate") != std::string::npos);
}

namespace {

Refusal refusal_of_files(const std::optional<std::string>& named) {
  return refusal_of([&] { (void)cmd::read_config(named); });
}

/// The TTL of the user's file; nothing if there is none, whatever the system's file says.
std::string users_ttl() {
  const auto config = cmd::read_config(std::nullopt);
  const auto found = config.find("ttl");
  return found == config.end() || found->second.file != 1 ? "" : found->second.text;
}

}  // namespace

TEST_CASE("a file that is named stands alone, and must be there") {
  const Surroundings around;
  (void)around.write(".config/rlock/rlock.conf", "wait = 1s\n");
  const std::string named = around.write("named", "ttl = 5s\n");
  const auto config = cmd::read_config(named);
  CHECK(config.size() == 1);
  CHECK(config.at("ttl").where == named + ":1");
  CHECK(refusal_of_files(around / "absent").first == cmd::ExitCode::bad_config);
  CHECK(refusal_of_files(around / "a\x1b").second ==
        "cannot use the config file '" + around / "a\\x1b': No such file or directory");
  CHECK(refusal_of_files("").first == cmd::ExitCode::bad_config);
}

TEST_CASE("the user's file is below XDG_CONFIG_HOME, otherwise below HOME") {
  const Surroundings around;
  CHECK(users_ttl().empty());
  (void)around.write(".config/rlock/rlock.conf", "ttl = 1s\n");
  CHECK(users_ttl() == "1s");
  around.set("XDG_CONFIG_HOME", "");
  CHECK(users_ttl() == "1s");
  around.set("XDG_CONFIG_HOME", around / "xdg");
  CHECK(users_ttl().empty());  // the one below HOME is not read then
  (void)around.write("xdg/rlock/rlock.conf", "ttl = 2s\n");
  CHECK(users_ttl() == "2s");
}

TEST_CASE("a user without a home has no file of their own") {
  const Surroundings around;
  around.set("HOME", "");
  CHECK(users_ttl().empty());
  around.unset("HOME");
  CHECK(users_ttl().empty());
}

TEST_CASE("a user's file that cannot be there is passed over, one that is not ours is refused") {
  const Surroundings around;
  around.set("XDG_CONFIG_HOME", around / "conf");  // a file
  CHECK(refusal_of_files(std::nullopt).first == 0);
  around.unset("XDG_CONFIG_HOME");
  const std::string file = around.write(".config/rlock/rlock.conf", "ttl = 1s\n", 0666);
  CHECK(refusal_of_files(std::nullopt) ==
        Refusal{78, "cannot use the config file '" + file +
                        "': others may write to it: chmod go-w " + file});
  (void)around.write(".config/rlock/rlock.conf", "colour = red\n");
  CHECK(refusal_of_files(std::nullopt).second.starts_with(file + ":1: 'colour' is not valid"));
  std::filesystem::remove(file);
  std::filesystem::create_symlink(file, file);
  CHECK(refusal_of_files(std::nullopt).second ==
        "cannot use the config file '" + file + "': Too many levels of symbolic links");
}

}  // namespace unit::cmd_config_file
