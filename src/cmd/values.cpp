#include "cmd/values.hpp"

#include <algorithm>

#include "base/duration.hpp"
#include "base/text.hpp"
#include "cmd/refusal.hpp"

namespace cmd {

base::Millis duration_in(const Setting& setting) {
  const auto length = base::parse_duration(setting.text);
  if (!length) throw not_accepted(setting, base::accepted_durations);
  return *length;
}

base::Millis wait_in(const Setting& setting) {
  if (setting.text == "forever") return base::Millis::max();
  const auto length = base::parse_duration(setting.text);
  if (!length) {
    throw not_accepted(setting, fmt::format("{}, or 'forever'", base::accepted_durations));
  }
  return *length;
}

store::LockName key_in(std::string_view source, const std::string& text) {
  auto name = store::LockName::from(text);
  if (!name) {
    throw not_accepted(source, text,
                       fmt::format("a key of 1 to {} bytes", store::LockName::longest));
  }
  return *std::move(name);
}

std::vector<store::LockName> together(std::vector<store::LockName> keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const auto& key : keys) {
    if (keys.size() > 1 && key.text().find('\n') != std::string::npos) {
      throw not_accepted("--key", key.text(), "keys without a newline where there are several");
    }
  }
  return keys;
}

store::LockName only_key(const std::vector<std::string>& operands) {
  if (operands.empty()) throw Refusal{ExitCode::usage, "no KEY given, accepted: one KEY"};
  if (operands.size() > 1) {
    throw not_accepted("KEY", operands[1], "nothing after the one KEY");
  }
  return key_in("KEY", operands.front());
}

}  // namespace cmd
