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
/// Keys of locks that go together: sorted, each once. Of several none may hold a newline, because
/// RLOCK_FENCES has a line for each.
std::vector<store::LockName> together(std::vector<store::LockName> keys);
/// The one KEY operand of a subcommand.
store::LockName only_key(const std::vector<std::string>& operands);

}  // namespace cmd
