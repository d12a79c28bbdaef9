// The label of a job of a CI system.
#include "cmd/ci_label.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "surroundings.hpp"

namespace unit::cmd_ci_label {
namespace {

std::string label() {
  const auto label = cmd::ci_label();
  return label ? label->text() : "";
}

/// None of the CI system that these tests may run in.
void forget_ci(const Surroundings& around) {
  for (const char* name : {"GITLAB_CI", "GITHUB_ACTIONS", "BUILDKITE", "JENKINS_URL"}) {
    around.unset(name);
  }
}

}  // namespace

TEST_CASE("elsewhere than in CI there is none") {
  const Surroundings around;
  forget_ci(around);
  CHECK_FALSE(cmd::ci_label());
}

TEST_CASE("each CI system's job is known by its name and URL") {
  const Surroundings around;
  forget_ci(around);
  SUBCASE("GitLab") {
    around.set("GITLAB_CI", "true");
    around.set("CI_PROJECT_PATH", "shop/web");
    around.set("CI_JOB_NAME", "deploy prod");
    around.set("CI_JOB_URL", "https://gitlab.example.com/shop/web/-/jobs/1234");
    CHECK(label() == "shop/web/deploy prod https://gitlab.example.com/shop/web/-/jobs/1234");
  }
  SUBCASE("GitHub") {
    around.set("GITHUB_ACTIONS", "true");
    around.set("GITHUB_WORKFLOW", "Release");
    around.set("GITHUB_JOB", "deploy");
    around.set("GITHUB_SERVER_URL", "https://github.com");
    around.set("GITHUB_REPOSITORY", "shop/web");
    around.set("GITHUB_RUN_ID", "99");
    CHECK(label() == "Release/deploy https://github.com/shop/web/actions/runs/99");
    around.unset("GITHUB_RUN_ID");
    CHECK(label() == "Release/deploy");
  }
  SUBCASE("Buildkite") {
    around.set("BUILDKITE", "true");
    around.set("BUILDKITE_PIPELINE_SLUG", "web");
    around.set("BUILDKITE_LABEL", ":rocket: deploy");
    around.set("BUILDKITE_BUILD_URL", "https://buildkite.com/shop/web/builds/7");
    around.set("BUILDKITE_JOB_ID", "e44f9784");
    CHECK(label() == "web/:rocket: deploy https://buildkite.com/shop/web/builds/7#e44f9784");
  }
  SUBCASE("Jenkins") {
    around.set("JENKINS_URL", "https://ci.example.com/");
    around.set("JOB_NAME", "web/deploy");
    around.set("BUILD_URL", "https://ci.example.com/job/web/job/deploy/7/");
    CHECK(label() == "web/deploy https://ci.example.com/job/web/job/deploy/7/");
  }
}

TEST_CASE("a label that is too long is cut, the name before the URL, and never an error") {
  const Surroundings around;
  forget_ci(around);
  const std::string url = "https://ci.example.com/job/7/";
  const auto of = [&](const std::string& name, const std::string& its_url) {
    around.set("JENKINS_URL", "x");
    around.set("JOB_NAME", name);
    around.set("BUILD_URL", its_url);
    return label();
  };
  CHECK(of(std::string(300, 'n'), url) == std::string(100 - url.size() - 1, 'n') + " " + url);
  CHECK(of("deploy", "https://" + std::string(300, 'u')) ==
        "deploy https://" + std::string(100 - 15, 'u'));
  CHECK(of(std::string(300, 'n'), "") == std::string(100, 'n'));
  CHECK(of("", url) == url);
  CHECK(of("", "").empty());
  // A character is not cut in two, and what is not fit for a terminal is made so.
  std::string umlauts;
  for (int i = 0; i < 60; ++i) umlauts += "\xc3\xbc";
  CHECK(of(umlauts, "").size() == 100);
  CHECK(of("a" + umlauts, "").size() == 99);
  CHECK(of("a\nb\x1b", "") == "a\\nb\\x1b");
  CHECK(of("deploy", "https://user:geheim@ci.example.com/").find("geheim") == std::string::npos);
}

}  // namespace unit::cmd_ci_label
