// Where a value comes from, and how values are read.
#include "cmd/settings.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "cmd/parse.hpp"

namespace unit::cmd_settings {

namespace of = cmd::of;
using cmd::Setting;
using Origin = cmd::Setting::Origin;

namespace {

/// An environment and a config file of this test's own.
class Surroundings {
 public:
  Surroundings() {
    std::array<char, 32> name{"/tmp/rlock-unit.XXXXXX"};
    directory_ = ::mkdtemp(name.data());
    set("RLOCK_CONFIG", file());
    config("");
  }
  ~Surroundings() {
    for (const auto& name : names_) ::unsetenv(name.c_str());
    ::unlink(file().c_str());
    ::rmdir(directory_.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    names_.push_back(name);
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  void config(const std::string& text) {
    std::ofstream{file()} << text;
    ::chmod(file().c_str(), 0600);
  }
  [[nodiscard]] std::string file() const { return directory_ + "/conf"; }

 private:
  std::string directory_;
  std::vector<std::string> names_;
};

cmd::Settings settings_of(const std::vector<std::string>& argv, cmd::Commands command = of::run) {
  cmd::Settings settings{"", command};
  const auto words = cmd::split_argv(argv, settings);
  settings.parse(words.options, words.meant);
  settings.read_elsewhere();
  return settings;
}

std::string refusal(const std::vector<std::string>& argv, cmd::Commands command = of::run) {
  try {
    (void)settings_of(argv, command);
  } catch (const cmd::UsageError& error) {
    CHECK(error.code == cmd::ExitCode::usage);
    return error.line;
  }
  return "";
}

Setting said(const std::string& text, Origin origin = Origin::command_line) {
  return {text, "--x", origin};
}

}  // namespace

TEST_CASE("the command line goes before the environment, and that before the config file") {
  Surroundings around;
  CHECK_FALSE(settings_of({}).find("ttl"));
  around.config("ttl = 100s\n");
  CHECK(settings_of({}).find("ttl")->text == "100s");
  CHECK(settings_of({}).find("ttl")->source == around.file() + ":1: ttl");
  CHECK(settings_of({}).find("ttl")->origin == Origin::config);
  around.set("RLOCK_TTL", "200s");
  CHECK(settings_of({}).find("ttl")->text == "200s");
  CHECK(settings_of({}).find("ttl")->source == "RLOCK_TTL");
  CHECK(settings_of({}).find("ttl")->origin == Origin::environment);
  CHECK(settings_of({}).in_config("ttl")->text == "100s");
  CHECK(settings_of({"-t", "300s"}).find("ttl")->text == "300s");
  CHECK(settings_of({"-t", "300s"}).find("ttl")->source == "--ttl");
  CHECK(settings_of({"-t", "300s"}).find("ttl")->origin == Origin::command_line);
}

TEST_CASE("an empty variable counts as not set") {
  Surroundings around;
  around.set("RLOCK_TTL", "");
  CHECK_FALSE(settings_of({}).find("ttl"));
}

TEST_CASE("what only the command line can say is not read elsewhere") {
  Surroundings around;
  around.set("RLOCK_WAIT", "10m");
  CHECK(settings_of({}, of::run).value("wait").text == "10m");
  CHECK(settings_of({}, of::cancel).value("wait").text == "10s");
  around.set("RLOCK_KEY", "other");
  CHECK(settings_of({}).all("key").empty());
}

TEST_CASE("the table's default is the value that was not set") {
  const Surroundings around;
  const auto ttl = settings_of({}).value("ttl");
  CHECK(ttl.text == "30s");
  CHECK(ttl.origin == Origin::standard);
  CHECK(settings_of({}, of::inspect).value("ttl").text.empty());  // has none
}

TEST_CASE("the last of several counts, unless all of them do") {
  const Surroundings around;
  CHECK(settings_of({"-t", "1s", "--ttl=2s"}).find("ttl")->text == "2s");
  CHECK(settings_of({"-k", "b", "-ka", "--key=c"}).all("key") ==
        std::vector<std::string>{"b", "a", "c"});
  CHECK(settings_of({}, of::inspect).all("key").empty());
}

TEST_CASE("values that CLI11 would take for lists or for nothing stay what they are") {
  const Surroundings around;
  CHECK(settings_of({"-k", "[a,b]"}).all("key") == std::vector<std::string>{"[a,b]"});
  CHECK(settings_of({"--key="}).all("key") == std::vector<std::string>{""});
  CHECK(settings_of({"--label", "a=b"}).find("label")->text == "a=b");
}

TEST_CASE("a flag is on when given, or when a variable or a file says yes") {
  Surroundings around;
  CHECK_FALSE(settings_of({}).is_on("wait-all"));
  CHECK(settings_of({"--wait-all"}).is_on("wait-all"));
  CHECK(settings_of({"--wait-all"}).on_command_line("wait-all"));
  for (const char* yes : {"1", "true", "yes", "on"}) {
    around.set("RLOCK_WAIT_ALL", yes);
    CHECK(settings_of({}).is_on("wait-all"));
    CHECK_FALSE(settings_of({}).on_command_line("wait-all"));
  }
  for (const char* no : {"0", "false", "no", "off"}) {
    around.set("RLOCK_WAIT_ALL", no);
    CHECK_FALSE(settings_of({}).is_on("wait-all"));
  }
  around.set("RLOCK_WAIT_ALL", "perhaps");
  const auto settings = settings_of({});
  CHECK_THROWS_AS((void)settings.is_on("wait-all"), cmd::UsageError);
}

TEST_CASE("an option that is not one is named, with what was probably meant") {
  const Surroundings around;
  CHECK(refusal({"--tll", "5s"}) ==
        "unknown option '--tll'; did you mean '--ttl'? accepted: see rlock --help");
  CHECK(refusal({"--frobnicate"}) == "unknown option '--frobnicate'; accepted: see rlock --help");
  CHECK(refusal({"-Z"}) == "unknown option '-Z'; accepted: see rlock --help");
  CHECK(refusal({"--pasword-file=hunter2"}).find("hunter2") == std::string::npos);
  CHECK(refusal({"--quiet=no"}) == "option '--quiet' takes no value");
}

TEST_CASE("an option without its value is an error") {
  const Surroundings around;
  CHECK(refusal({"--ttl"}).find("--ttl") != std::string::npos);
  CHECK(refusal({"-k"}).find("--key") != std::string::npos);
}

TEST_CASE("durations are read, and what is none is refused with what is accepted") {
  CHECK(cmd::duration_of(said("1h30m")) == base::Millis{5'400'000});
  CHECK(cmd::duration_of(said("0")) == base::Millis{0});
  CHECK_THROWS_AS((void)cmd::duration_of(said("5x")), cmd::UsageError);
  CHECK_THROWS_AS((void)cmd::duration_of(said("forever")), cmd::UsageError);
  CHECK(cmd::wait_of(said("forever")) == base::Millis::max());
  CHECK(cmd::wait_of(said("2s")) == base::Millis{2'000});
  CHECK_THROWS_AS((void)cmd::wait_of(said("soon")), cmd::UsageError);
}

TEST_CASE("numbers are whole and within their bounds") {
  CHECK(cmd::number_of(said("0"), 0, 255) == 0);
  CHECK(cmd::number_of(said("255"), 0, 255) == 255);
  for (const char* bad : {"256", "-1", "", "7x", "1.5", " 1", "99999999999"}) {
    CHECK_THROWS_AS((void)cmd::number_of(said(bad), 0, 255), cmd::UsageError);
  }
  CHECK_THROWS_AS((void)cmd::number_of(said("0"), 1, 5), cmd::UsageError);
}

TEST_CASE("a mistake in a config file has an exit code of its own") {
  CHECK(cmd::not_accepted(said("x", Origin::config), "y").code == cmd::ExitCode::bad_config);
  CHECK(cmd::not_accepted(said("x", Origin::environment), "y").code == cmd::ExitCode::usage);
  CHECK(cmd::not_accepted(said("x"), "y").line == "--x: saw 'x', accepted: y");
}

TEST_CASE("every default that is read as a value can be read") {
  const Surroundings around;
  CHECK(cmd::duration_of(settings_of({}).value("ttl")) == base::Millis{30'000});
  CHECK(cmd::wait_of(settings_of({}).value("wait")) == base::Millis{0});
  CHECK(cmd::number_of(settings_of({}).value("sync-replicas"), 0, 9) == 0);
  CHECK(cmd::number_of(settings_of({}).value("conflict-exit-code"), 0, 255) == cmd::ExitCode::busy);
  CHECK(cmd::duration_of(settings_of({}, of::cancel).value("wait")) == base::Millis{10'000});
  CHECK(cmd::duration_of(settings_of({}, of::force_release).value("wait")) == base::Millis{10'000});
  CHECK(cmd::duration_of(settings_of({}, of::check).value("at-least")) == base::Millis{0});
}

}  // namespace unit::cmd_settings
