// Lines of config files.
#include "cmd/config_file.hpp"

#include <doctest/doctest.h>

#include "cmd/report.hpp"

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
  CHECK(refusal("ttl = 1s\nttl = 2s\n").starts_with("/f:2: saw 'ttl', accepted: each name once"));
}

TEST_CASE("a value that an earlier file has stays") {
  auto config = config_of("ttl = 1s\n");
  CHECK(config.at("ttl").text == "1s");
  cmd::read_config_text(config, "/g", "ttl = 3s\nwait = 4s\n", 1);
  CHECK(config.at("ttl").where == "/f:1");
  CHECK(config.at("wait").where == "/g:2");
}

TEST_CASE("a line that is none says where, and shows no more than a name") {
  CHECK(refusal("\nhunter2") == "/f:2: saw '…', accepted: 'name = value' or a '# comment'");
  CHECK(refusal("colour = red").starts_with("/f:1: saw 'colour', accepted: "));
  CHECK(refusal("Hunter2 = x").starts_with("/f:1: saw '…', accepted: "));
  CHECK(refusal("= 5").starts_with("/f:1: saw '', accepted: "));
  CHECK(refusal("key = x").find("local-gate") != std::string::npos);
}

}  // namespace unit::cmd_config_file
