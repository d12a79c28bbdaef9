// Messages and exit codes of failures, a line each.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>

#include "cmd/exit_code.hpp"
#include "hold/acquire.hpp"
#include "store/lock_admin.hpp"

namespace cmd {

struct ClaimPlan;
struct ServerChoice;

/// A request that cannot be carried out as it stands; the user can fix it. Thrown while argv,
/// environment and config become a plan, before anything was touched; caught in main, which prints
/// `line` and exits with `code`.
struct UsageError : std::exception {
  UsageError(ExitCode code_, std::string line_) : code{code_}, line{std::move(line_)} {}
  [[nodiscard]] const char* what() const noexcept override { return line.c_str(); }

  ExitCode code;
  std::string line;
};

/// "--ttl: '5x' is not valid; expected a duration ..."
UsageError not_accepted(std::string_view source, std::string_view seen, std::string_view expected,
                        ExitCode code = ExitCode::usage);

/// A key as the operand of a command line to be copied.
std::string key_to_type(const store::LockName& key);

/// For a key that nobody holds: "; for all locks that match: rlock list 'a:*'" if it looks like a
/// pattern, else empty.
std::string if_pattern(const ServerChoice& server, const store::LockName& key);

/// A word of the user for a message: printable, cut if it is long, and without the secret of a URL,
/// which may stand in a wrong place.
std::string shown_word(std::string_view word);
/// The same for an unknown option: only its name, without a value that may be attached.
std::string shown_option(std::string_view word);

/// A failure of the server: one line on stderr; returns the exit code.
int report_fault(const ServerChoice& server, const store::Fault& fault);
/// "this is not all: why"
std::string not_whole(const store::Fault& missing);
/// After a listing was printed: says what it lacks, on stderr; returns the exit code, which is not
/// 0 if locks are missing.
int report_gaps(const ServerChoice& server, const store::Listing& listing);
void say_doubt(const std::string& doubt);
/// Whether the line about a grant needs -v. In a log that tells a wait it does not.
enum class GrantLine { detail, notice };
/// "got 'a' after 4m, fence 12". `verb`: "got", or "runs under" for a lock of an enclosing run.
void say_granted(const store::Lease& lease, std::string_view verb, base::Moment began,
                 GrantLine line);
/// The lock was not acquired: one line on stderr (none for a signal); returns the exit code.
int report_not_acquired(const ClaimPlan& plan, const hold::NotAcquired& why);

}  // namespace cmd
