// What the user asked for, understood and checked; nothing has been touched yet.
#pragma once

#include <string>
#include <vector>

#include "cmd/claim_options.hpp"
#include "cmd/exit_code.hpp"
#include "hold/steward.hpp"
#include "store/names.hpp"

namespace cmd {

/// Run COMMAND under the lock.
struct RunPlan {
  ClaimPlan lock;
  base::Millis grace;
  hold::OnLost on_lost;
  base::Millis min_hold;
  bool wait_all;
  bool reentrant;
  std::optional<std::string> status_file;
  std::vector<std::string> command;
};

enum class Handover { print, shell, github };

/// Take the lock and leave it held.
struct AcquirePlan {
  ClaimPlan lock;
  Handover handover;
  std::string github_output;  // a file's path, for Handover::github
};

/// The lock of a token, for what is done with it in a process of its own.
struct TokenPlan {
  ServerChoice server;
  std::vector<store::LockName> keys;
  store::Token token;
};

struct RefreshPlan {
  TokenPlan lock;
  store::Ttl ttl;
};

struct CheckPlan {
  TokenPlan lock;
  base::Millis at_least;
};

struct CancelPlan {
  ServerChoice server;
  store::LockName key;
  std::optional<store::Token> only;
  base::Millis wait;
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

struct DoctorPlan {
  ServerChoice server;
  store::LockName key;
  bool json;
};

struct ForceReleasePlan {
  ServerChoice server;
  store::LockName key;
  std::optional<store::Token> only;
  bool yes;
  base::Millis wait;
};

/// Something to print on stdout: a help text, the version.
struct Answer {
  std::string text;
};

}  // namespace cmd
