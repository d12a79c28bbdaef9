// The options of every command: server, password, verbosity; and the removal of passwords from
// argv.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "cmd/settings.hpp"
#include "hold/environment.hpp"
#include "os/poll.hpp"
#include "store/backend.hpp"
#include "store/lock_admin.hpp"
#include "store/lock_store.hpp"

namespace cmd {

/// The server that was chosen, or the default one.
struct ServerChoice {
  store::ServerSpec spec;
  std::string shown;                         // for messages: never holds a secret
  std::optional<store::ServerUrl> exported;  // RLOCK_SERVER for the job, if one was chosen
  std::optional<std::string> exported_file;  // RLOCK_PASSWORD_FILE for the job, if it needs it
  base::Millis longest_answer;               // --connect-timeout
  std::string password_source{};             // "REDISCLI_AUTH": names the place, never the password
  std::string typed{};                       // " -S URL" for a line to copy, if it was typed so

  /// For the job.
  [[nodiscard]] hold::ServerToTell to_tell() const { return {shown, exported, exported_file}; }
  /// The limit of one request of a command that does not wait for a lock.
  [[nodiscard]] os::CallLimit limit() const {
    return {base::Deadline::after(base::now(), longest_answer)};
  }

  /// Asks with that limit, and once more in the time that is left if the answer was cut off, so the
  /// request must be repeatable. Faults name the limit.
  template <class Question>
  auto ask(const Question& question) const {
    const auto asked_at = base::now();
    const os::CallLimit within{base::Deadline::after(asked_at, longest_answer)};
    auto answer = question(within);
    store::Fault* fault = store::fault_in(answer);
    const bool cut_off = fault != nullptr && fault->kind == store::Fault::Kind::silent;
    if (cut_off && !within.until.passed(base::now())) {
      answer = question(within);
      fault = store::fault_in(answer);
    }
    if (fault != nullptr) store::say_limit(*fault, asked_at, within.until);
    return answer;
  }
  /// The state of a lock, by ask().
  [[nodiscard]] store::Result<store::LockReport> report_on(store::LockAdmin& admin,
                                                           const store::LockName& name) const {
    return ask([&](const os::CallLimit& limit) { return admin.inspect(name, limit); });
  }
  /// A scan of a large server takes a while: a million keys about a second. `interrupt` ends it as
  /// soon as it can be read from.
  [[nodiscard]] store::Result<store::Listing> list(store::LockAdmin& admin,
                                                   const std::string& pattern, store::Listed which,
                                                   int interrupt = -1) const {
    const auto until = base::Deadline::after(base::now(), store::slowest_list);
    auto listing = admin.list(pattern, which, longest_answer, {until, interrupt});
    if (!listing && until.passed(base::now())) return store::too_slow_a_list();
    if (listing) listing->missing = listing->gap();
    return listing;
  }
  /// "cannot reach redis://h: why"
  [[nodiscard]] std::string said_of(const store::Fault& fault) const;
  /// "; the password came from REDISCLI_AUTH", if `why` is a server's refusal of a password.
  [[nodiscard]] std::string source_if_refused(std::string_view why) const;
  /// Whether a token holds it, by ask().
  [[nodiscard]] store::Standing standing_of(store::LockStore& store, const store::LockName& name,
                                            const store::Token& token) const {
    return ask([&](const os::CallLimit& limit) { return store.check(name, token, limit); });
  }
};

/// Throws UsageError.
ServerChoice resolve_server(const Settings& settings);
/// Before acquiring: each host has its own default server, which is wrong for a job that several
/// hosts start. Silent at a terminal, where a person sees what happens.
void warn_of_default_server(const ServerChoice& server);
/// Throws UsageError if that kind of server lacks the feature that the option needs.
void require(const ServerChoice& server, store::Feature feature, std::string_view option);

/// Overwrites the passwords of URLs in these words, up to a "--", with asterisks: ps(1) shows that
/// memory. Until then, for an instant, they can be read; so a password belongs elsewhere.
void scrub_argv(std::span<char*> words);
/// A crash of rlock or its guardian leaves no core file, which would have the passwords. The job
/// keeps the limit that it would have without rlock.
void forbid_core_files();

}  // namespace cmd
