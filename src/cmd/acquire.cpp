// rlock acquire: take locks, leave them held, and hand their token to the steps that follow.
#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "base/text.hpp"
#include "cmd/claim_options.hpp"
#include "cmd/commands.hpp"
#include "cmd/nested.hpp"
#include "cmd/present.hpp"
#include "os/error.hpp"
#include "os/file.hpp"

namespace cmd {
namespace {

// The part of the lease that must be left when the token is handed over: none in particular.
constexpr base::Millis no_grace{0};

enum class Handover { print, shell, github };

struct AcquirePlan {
  ClaimPlan lock;
  Handover handover;
  std::string github_output;  // a file's path, for Handover::github
};

std::string joined(const std::vector<store::Lease>& leases, bool with_fence) {
  std::string text;
  for (const auto& lease : leases) {
    text += fmt::format("{}{}", text.empty() ? "" : "\n", lease.name.text());
    if (with_fence) text += fmt::format("={}", lease.fence);
  }
  return text;
}

std::string for_shell(const ClaimPlan& plan, const std::vector<store::Lease>& leases) {
  const auto word = [](const char* name, const std::string& value) {
    return fmt::format(" {}={}", name, base::shell_word(value));
  };
  std::string text = "export" + word("RLOCK_TOKEN", leases.front().token.text());
  if (leases.size() == 1) {
    text += word("RLOCK_KEY", leases.front().name.text());
    text += word("RLOCK_FENCE", std::to_string(leases.front().fence));
    if (const auto& lease = leases.front(); lease.permit > 0) {
      text += word("RLOCK_PERMIT", std::to_string(lease.permit));
      if (!lease.resource.empty()) text += word("RLOCK_RESOURCE", lease.resource);
    }
  } else {
    text += word("RLOCK_FENCES", joined(leases, true));
  }
  // The steps inherit a variable that is set already. No password is printed.
  const char* known = std::getenv("RLOCK_SERVER");
  const auto& server = plan.server.exported;
  if (server && (known == nullptr || server->reveal() != known)) {
    text += word("RLOCK_SERVER", server->without_secret());
  }
  if (const auto& file = plan.server.exported_file) text += word("RLOCK_PASSWORD_FILE", *file);
  return text + "\n";
}

/// One line "name=value", or the form for several lines, whose end is a word that is in none.
std::string output_line(const char* name, const std::string& value, const store::Token& token) {
  if (value.find('\n') == std::string::npos) return fmt::format("{}={}\n", name, value);
  const std::string end = "end-" + token.text().substr(token.text().rfind('#') + 1);
  return fmt::format("{}<<{}\n{}\n{}\n", name, end, value, end);
}

std::string for_github(const std::vector<store::Lease>& leases) {
  const auto& token = leases.front().token;
  std::string text = output_line("token", token.text(), token);
  if (leases.size() == 1) {
    const auto& lease = leases.front();
    text += output_line("key", lease.name.text(), token);
    text += output_line("fence", std::to_string(lease.fence), token);
    if (lease.permit > 0) text += output_line("permit", std::to_string(lease.permit), token);
    if (!lease.resource.empty()) text += output_line("resource", lease.resource, token);
    return text;
  }
  text += output_line("keys", joined(leases, false), token);
  return text + output_line("fences", joined(leases, true), token);
}

/// Throws std::system_error if that fails; then the caller releases the locks, because without the
/// token nothing else could.
void hand_over(const AcquirePlan& plan, const std::vector<store::Lease>& leases) {
  switch (plan.handover) {
    case Handover::print: print(leases.front().token.text() + "\n"); break;
    case Handover::shell: print(for_shell(plan.lock, leases)); break;
    case Handover::github:
      if (const auto written = os::append_to(plan.github_output, for_github(leases)); !written) {
        os::fail("writing to the file of GITHUB_OUTPUT", written.error().number);
      }
      break;
  }
}

/// Nothing if the locks were handed over; otherwise the exit code.
std::optional<int> failure_to_take(const AcquirePlan& plan) {
  os::Signals signals;
  const auto began = base::now();
  auto claims = plan.lock.claims();
  const auto& server = plan.lock.server;
  const auto why = hold::too_much_to_tell(claims, {}, server.to_tell());
  if (why && plan.handover != Handover::print) throw UsageError{ExitCode::usage, *why};
  warn_of_default_server(server);
  hold::InterruptionBySignals interruption{signals};
  auto acquisition = hold::acquire([&] { return plan.lock.open_store(); },
                                   {std::move(claims), plan.lock.wait, no_grace,
                                    plan.lock.server.longest_answer, outer_tokens()},
                                   interruption);
  if (const auto* not_acquired = std::get_if<hold::NotAcquired>(&acquisition)) {
    return report_not_acquired(plan.lock, *not_acquired);
  }
  auto& locks = std::get<hold::HeldLocks>(acquisition);
  hand_over(plan, locks.leases());
  const auto line = locks.is_wait_in_log() ? GrantLine::notice : GrantLine::detail;
  for (const auto& lease : locks.leases()) say_granted(lease, "got", began, line);
  // From here on they belong to the reader of the token.
  for (auto& returned : std::move(locks).give_back()) returned.held.give_up();
  return std::nullopt;
}

int execute(const AcquirePlan& plan) {
  const bool for_eval = plan.handover == Handover::shell;
  try {
    const auto failure = failure_to_take(plan);
    if (failure && for_eval) print(failure_for_eval(*failure));
    return failure.value_or(ExitCode::ok);
  } catch (const std::system_error&) {
    if (for_eval) print(failure_for_eval(ExitCode::system_refused));
    throw;
  }
}

std::string github_output_in(const Settings& settings) {
  if (!settings.is_on("github-output")) return "";
  const char* file = std::getenv("GITHUB_OUTPUT");
  if (file == nullptr || *file == '\0') {
    throw UsageError{
        ExitCode::usage,
        "--github-output works only inside a GitHub Actions step: GITHUB_OUTPUT is not set"};
  }
  if (const auto creatable = os::can_create(file); !creatable) {
    throw UsageError{ExitCode::usage, fmt::format("--github-output: cannot write '{}': {}",
                                                  base::printable(file), creatable.error().text())};
  }
  return file;
}

Act resolve_acquire(const Settings& settings, const std::vector<std::string>& operands) {
  if (operands.size() == 1 && settings.all("key").empty()) {
    throw UsageError{ExitCode::usage,
                     fmt::format("unexpected argument '{}'; the key of acquire stands behind -k",
                                 shown_word(operands.front()))};
  }
  if (!operands.empty()) {
    throw UsageError{ExitCode::usage, fmt::format("unexpected argument '{}'; acquire runs no "
                                                  "command; to run one: rlock -k KEY -- COMMAND",
                                                  shown_word(operands.front()))};
  }
  if (settings.all("key").empty()) {
    throw UsageError{ExitCode::usage, "no key given; use -k KEY"};
  }
  const auto ttl = ttl_in(settings);
  if (!ttl) {
    throw UsageError{ExitCode::usage,
                     "no --ttl given; say how long to hold the lock, which nobody refreshes"};
  }
  if (settings.is_on("export") && settings.is_on("github-output")) {
    throw UsageError{ExitCode::usage, "use only one of --export and --github-output"};
  }
  AcquirePlan plan{resolve_claim(settings, *ttl, *store::Label::from(acquire_label)),
                   Handover::print, github_output_in(settings)};
  plan.lock.outlives = true;
  require(plan.lock.server, store::Feature::steps, "acquire");
  if (settings.is_on("export")) plan.handover = Handover::shell;
  if (!plan.github_output.empty()) plan.handover = Handover::github;
  return [plan = std::move(plan)] { return execute(plan); };
}

}  // namespace

std::string failure_for_eval(int code) {
  // With `-E 0` a busy lock is not a failure for our caller, but eval would go on.
  return fmt::format("(exit {})\n", code == ExitCode::ok ? ExitCode::busy : code);
}

const Command acquire_command{
    "acquire",
    of::acquire,
    "acquire [OPTIONS] -k KEY --ttl DUR",
    "take a lock and leave it held, for steps that are separate processes",
    "Prints the token of the lock. Nothing refreshes the lock, and nothing stops a\n"
    "step when the lease ends. Exits 0 if it took the lock, 75 if the lock is busy.\n"
    "\n"
    "Examples:\n"
    "  token=$(rlock acquire -k deploy --ttl 30m --wait 10m)\n"
    "  eval \"$(rlock acquire -k deploy --ttl 30m --export)\" || exit\n"
    "  rlock acquire -k deploy --ttl 30m --github-output",
    resolve_acquire};

}  // namespace cmd
