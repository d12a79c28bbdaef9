// The options of a run.
#pragma once

#include <string>
#include <vector>

#include "cmd/plan.hpp"

namespace cmd {

void declare_run(Settings& settings);
/// Throws Refusal.
RunPlan understand_run(const Settings& settings, const std::vector<std::string>& operands);

}  // namespace cmd
