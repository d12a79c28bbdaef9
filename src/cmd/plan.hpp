// What the user asked for, understood and checked; nothing has been touched yet.
#pragma once

#include <string>
#include <vector>

#include "cmd/exit_code.hpp"
#include "cmd/server_options.hpp"
#include "hold/steward.hpp"
#include "store/names.hpp"

namespace cmd {

/// Run COMMAND under the lock.
struct RunPlan {
  ServerChoice server;
  store::LockName key;
  store::Ttl ttl;
  base::Millis wait;  // Millis::max(): forever
  base::Millis grace;
  hold::OnLost on_lost;
  store::Label label;
  int conflict_exit_code;
  std::vector<std::string> command;
};

struct InspectPlan {
  ServerChoice server;
  store::LockName key;
  bool json;
  bool quiet;
};

struct ListPlan {
  ServerChoice server;
  std::string pattern;
  bool json;
};

struct ForceReleasePlan {
  ServerChoice server;
  store::LockName key;
  bool yes;
  base::Millis wait;
};

/// Something to print on stdout: a help text, the version.
struct Answer {
  std::string text;
};

}  // namespace cmd
