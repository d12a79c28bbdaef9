#include "cmd/ci_label.hpp"

#include <string>
#include <string_view>

#include "base/text.hpp"
#include "cmd/settings.hpp"
#include "store/server_url.hpp"

namespace cmd {
namespace {

bool is_set(const char* name) {
  return !variable(name).empty();
}

/// Those that are not empty.
std::string joined(const std::string& one, std::string_view between, const std::string& other) {
  if (one.empty() || other.empty()) return one + other;
  return one + std::string{between} + other;
}

struct CiJob {
  std::string name;
  std::string url;
};

std::optional<CiJob> ci_job() {
  // docs.gitlab.com/ci/variables/predefined_variables
  if (is_set("GITLAB_CI")) {
    return CiJob{joined(variable("CI_PROJECT_PATH"), "/", variable("CI_JOB_NAME")),
                 variable("CI_JOB_URL")};
  }
  // docs.github.com/actions, "Variables reference"; there is none for the URL of the job itself.
  if (is_set("GITHUB_ACTIONS")) {
    const std::string run = variable("GITHUB_SERVER_URL") + "/" + variable("GITHUB_REPOSITORY") +
                            "/actions/runs/" + variable("GITHUB_RUN_ID");
    return CiJob{joined(variable("GITHUB_WORKFLOW"), "/", variable("GITHUB_JOB")),
                 is_set("GITHUB_RUN_ID") ? run : ""};
  }
  // buildkite.com/docs/pipelines/environment-variables
  if (is_set("BUILDKITE")) {
    return CiJob{joined(variable("BUILDKITE_PIPELINE_SLUG"), "/", variable("BUILDKITE_LABEL")),
                 joined(variable("BUILDKITE_BUILD_URL"), "#", variable("BUILDKITE_JOB_ID"))};
  }
  // www.jenkins.io/doc/book/pipeline/jenkinsfile, "Using environment variables"
  if (is_set("JENKINS_URL")) return CiJob{variable("JOB_NAME"), variable("BUILD_URL")};
  return std::nullopt;
}

// So much of a name says which job it is.
constexpr std::size_t shortest_name = 20;

std::string fitted(const CiJob& job) {
  constexpr std::size_t longest = store::Label::longest;
  const std::string name = base::printable(job.name);
  const std::string url = store::ServerUrl{job.url}.shown();
  if (name.empty() || url.empty()) return std::string{base::cut_to(name + url, longest)};
  const bool both_fit = url.size() + 1 + shortest_name <= longest;
  const std::size_t of_name = both_fit ? longest - url.size() - 1 : shortest_name;
  return std::string{base::cut_to(std::string{base::cut_to(name, of_name)} + ' ' + url, longest)};
}

}  // namespace

std::optional<store::Label> ci_label() {
  const auto job = ci_job();
  return job ? store::Label::from(fitted(*job)) : std::nullopt;
}

}  // namespace cmd
