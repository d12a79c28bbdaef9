// The label of a run inside a CI job: the job's name and URL.
#pragma once

#include <optional>

#include "store/names.hpp"

namespace cmd {

/// "NAME URL" of the job in GitLab, GitHub Actions, Buildkite or Jenkins, from the variables that
/// each documents; nothing elsewhere. If it is too long, the name is cut before the URL, which
/// leads a person to the holder.
std::optional<store::Label> ci_label();

}  // namespace cmd
