// `rlock help TOPIC`: subjects that concern several commands, a screen each.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cmd {

/// The words after `rlock help` that are no commands, each with its purpose.
struct HelpTopic {
  const char* name;
  const char* purpose;
};
const std::vector<HelpTopic>& help_topics();

/// The text of a topic, also for a plain synonym such as "exit"; nothing if there is none.
std::optional<std::string> topic_text(const std::string& word);

}  // namespace cmd
