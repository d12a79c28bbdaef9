// One command of rlock: it declares its options, gives them a meaning, and acts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cmd/settings.hpp"

namespace cmd {

/// What is left to do once everything is understood; returns the exit code.
using Act = std::function<int()>;

struct Command {
  const char* name;     // the word that selects it; "" for the run, which needs none
  const char* usage;    // what follows "rlock" in the help's first line
  const char* purpose;  // one line
  const char* examples;
  void (*declare)(Settings&);
  /// Throws Refusal; touches nothing.
  Act (*understand)(const Settings&, const std::vector<std::string>& operands);
};

}  // namespace cmd
