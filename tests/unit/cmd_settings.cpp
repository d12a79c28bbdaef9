// Where a value comes from, and how values are read.
#include "cmd/settings.hpp"

#include <doctest/doctest.h>

#include "surroundings.hpp"

namespace unit::cmd_settings {

namespace of = cmd::of;
using cmd::Setting;
using Origin = cmd::Setting::Origin;

namespace {

std::string refusal(const std::vector<std::string>& argv, cmd::Commands command = of::run) {
  const auto [code, line] = refusal_of([&] { (void)settings_of(argv, command); });
  CHECK((code == 0 || code == cmd::ExitCode::usage));
  return line;
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
  CHECK(settings_of({}).find("ttl")->source == around / "conf:1: ttl");
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

TEST_CASE("an option of the command line alone is not read elsewhere") {
  Surroundings around;
  around.set("RLOCK_WAIT", "10m");
  CHECK(settings_of({}, of::run).value("wait").text == "10m");
  CHECK(settings_of({}, of::cancel).value("wait").text == "10s");
  around.set("RLOCK_KEY", "other");
  around.set("RLOCK_HELD", "1");
  CHECK(settings_of({}).all("key").empty());
  around.unset("RLOCK_HELD");
  const auto refused = [](cmd::Commands command) {
    return unit::refusal_of([&] { (void)settings_of({}, command); });
  };
  CHECK(refused(of::run) ==
        unit::Refusal{64, "RLOCK_KEY has no effect: give --key on the command line"});
  CHECK(refused(of::release).first == 0);  // reads it
  around.unset("RLOCK_KEY");
  around.set("RLOCK_SLOT", "@day");
  CHECK(refused(of::run) ==
        unit::Refusal{64, "RLOCK_SLOT has no effect: give --slot on the command line"});
  CHECK(refused(of::acquire).first == 0);
  around.set("RLOCK_TOKEN", "as acquire --export has it");
  CHECK(refused(of::run).first == 0);
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
}

TEST_CASE("a flag whose value is neither yes nor no is an error of where it stands") {
  const Surroundings around;
  const auto refused = [](const cmd::Settings& settings) {
    return refusal_of([&] { (void)settings.is_on("wait-all"); });
  };
  const std::string accepted =
      "'perhaps' is not valid; expected 1, true, yes, on, 0, false, no or off";
  (void)around.config("wait-all = perhaps");
  CHECK(refused(settings_of({})) == Refusal{78, around / "conf:1: wait-all: " + accepted});
  around.set("RLOCK_WAIT_ALL", "perhaps");
  CHECK(refused(settings_of({})) == Refusal{64, "RLOCK_WAIT_ALL: " + accepted});
  CHECK(refused(settings_of({"--wait-all"})).first == 0);
}

TEST_CASE("an option that is not one is named, with what was probably meant") {
  const Surroundings around;
  CHECK(refusal({"--tll", "5s"}) == "unknown option '--tll'; did you mean '--ttl'?");
  CHECK(refusal({"--frobnicate"}) == "unknown option '--frobnicate'; for a list: rlock --help");
  CHECK(refusal({"-Z"}) == "unknown option '-Z'; for a list: rlock --help");
  CHECK(refusal({"--pasword-file=hunter2"}).find("hunter2") == std::string::npos);
  CHECK(refusal({"--quiet=no"}) == "option '--quiet' takes no value");
  CHECK(refusal({"--frobnicate=5"}) == "unknown option '--frobnicate…'; for a list: rlock --help");
  CHECK(refusal({"-Z--ttl=5"}) == "unknown option '-Z--ttl…'; for a list: rlock --help");
}

TEST_CASE("an option is known by its letter or by its whole name") {
  const cmd::Settings settings{"", of::run};
  const auto name = [&](std::string_view word) {
    const auto* option = settings.option_written(word);
    return option == nullptr ? "" : option->name;
  };
  CHECK(name("-t") == "ttl");
  CHECK(name("--ttl") == "ttl");
  CHECK(name("-c") == "c");
  for (const char* none : {"", "-", "--", "-tt", "--t", "--tt", "--c", "t", "ttl", "--json"}) {
    CAPTURE(none);
    CHECK(name(none).empty());
  }
}

TEST_CASE("an option that has a letter alone is read and written with it") {
  const Surroundings around;
  const auto command = settings_of({"-c", "echo a b"}).find("c");
  REQUIRE(command);
  CHECK(command->text == "echo a b");
  CHECK(command->source == "-c");
  CHECK(settings_of({"-cecho"}).find("c")->text == "echo");
}

TEST_CASE("a config file that was named must be there and good, wherever it is named") {
  const Surroundings around;
  const auto refused = [](const std::vector<std::string>& argv) {
    return refusal_of([&] { (void)settings_of(argv); });
  };
  const std::string absent = around / "absent";
  CHECK(refused({}).second.empty());
  CHECK(refused({"--config", absent}) ==
        Refusal{78, "cannot use the config file '" + absent + "': No such file or directory"});
  around.set("RLOCK_CONFIG", absent);
  CHECK(refused({}).first == 78);
  CHECK(refused({"--config", around.write("other", "ttl = 5s")}).second.empty());
  CHECK(settings_of({"--config", around / "other"}).find("ttl")->text == "5s");
}

TEST_CASE("a variable of what only this command's line can say is an error, another's is not") {
  const Surroundings around;
  around.set("RLOCK_SHARED", "1");
  CHECK(refusal({}) == "RLOCK_SHARED has no effect: give --shared on the command line");
  CHECK(refusal({"--shared"}).starts_with("RLOCK_SHARED has no effect"));
  CHECK(refusal({}, of::list).empty());
  around.set("RLOCK_SHARED", "");
  CHECK(refusal({}).empty());
  around.set("RLOCK_TLL", "5s");  // worth a line, no error
  CHECK(refusal({}).empty());
}

TEST_CASE("variables that nothing reads get a line, and a job's own none") {
  const Surroundings around;
  const auto warnings = [](cmd::Commands command) {
    const auto settings = settings_of({}, command);
    const Said said;
    settings.warn_of_unread_variables();
    return said.text();
  };
  CHECK(warnings(of::run).empty());
  around.set("RLOCK_KEY", "deploy");  // told to a job
  around.set("RLOCK_HELD", "1");
  around.set("RLOCK_TTL", "5s");
  CHECK(warnings(of::list).empty());
  around.set("RLOCK_TLL", "5s");
  CHECK(warnings(of::run) == "rlock: unknown variable RLOCK_TLL; did you mean RLOCK_TTL?\n");
  around.unset("RLOCK_TLL");
  around.set("RLOCK_FROBNICATE\x1b", "5s");
  CHECK(warnings(of::run) == "rlock: unknown variable RLOCK_FROBNICATE\\x1b\n");
  around.unset("RLOCK_FROBNICATE\x1b");
  around.set("RLOCK_SHARED", "1");
  CHECK(warnings(of::list) ==
        "rlock: RLOCK_SHARED has no effect: give --shared on the command line\n");
  // No variable reads a flag that only the command line has: it is not what was meant.
  around.set("RLOCK_EXCLUSIV", "1");
  CHECK(warnings(of::list).find("unknown variable RLOCK_EXCLUSIV\n") != std::string::npos);
}

TEST_CASE("with --quiet there is no warning about variables") {
  const Surroundings around;
  around.set("RLOCK_TLL", "5s");
  around.set("RLOCK_SHARED", "1");
  base::log::set_level(base::log::Level::quiet);
  const auto settings = settings_of({}, of::list);
  const Said said;
  settings.warn_of_unread_variables();
  CHECK(said.text().empty());
}

TEST_CASE("of two settings the one from the nearer place goes before, of files the lower one") {
  const Setting config = said("x", Origin::config);
  Setting lower = config;
  lower.file = 1;
  CHECK(said("x").goes_before(said("x", Origin::environment)));
  CHECK(said("x", Origin::environment).goes_before(config));
  CHECK(config.goes_before(said("x", Origin::standard)));
  CHECK(config.goes_before(lower));
  CHECK_FALSE(lower.goes_before(config));
  CHECK_FALSE(config.goes_before(config));
  lower.origin = Origin::environment;  // whatever the file
  CHECK(lower.goes_before(config));
}

TEST_CASE("an option without its value is an error") {
  const Surroundings around;
  CHECK(refusal({"--ttl"}).find("--ttl") != std::string::npos);
  CHECK(refusal({"-k"}) == "option '-k' needs a value: KEY");
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
  CHECK(cmd::not_accepted(said("x"), "y").line == "--x: 'x' is not valid; expected y");
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
