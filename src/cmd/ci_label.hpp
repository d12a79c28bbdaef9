// What a CI system says of the job that rlock runs in.
#pragma once

#include <optional>

#include "store/names.hpp"

namespace cmd {

/// "NAME URL" of the job in GitLab, GitHub Actions, Buildkite or Jenkins, from the variables that
/// each documents; nothing elsewhere. What is too long is cut, the name before the URL: a person
/// who is told who has the lock wants to go there.
std::optional<store::Label> ci_label();

}  // namespace cmd
