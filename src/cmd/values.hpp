// Option values that several commands read the same way. All throw Refusal.
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cmd/settings.hpp"
#include "store/names.hpp"

namespace cmd {

base::Millis duration_in(const Setting& setting);
/// Also "forever": Millis::max().
base::Millis wait_in(const Setting& setting);
store::LockName key_in(std::string_view source, const std::string& text);
/// The one KEY operand of a subcommand.
store::LockName only_key(const std::vector<std::string>& operands);

}  // namespace cmd
