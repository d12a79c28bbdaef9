#include "cmd/claim_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "cmd/refusal.hpp"
#include "cmd/values.hpp"
#include "store/open.hpp"

namespace cmd {
namespace {

constexpr unsigned most_waiters = 1'000'000;
constexpr unsigned most_replicas = 1'000;

store::Mode mode_in(const Settings& settings) {
  const auto permits = settings.find("permits");
  const bool shared = settings.is_on("shared");
  const bool exclusive = settings.is_on("exclusive");
  if ((exclusive && shared) || (permits && (exclusive || shared))) {
    throw Refusal{ExitCode::usage, "--exclusive, --shared and --permits contradict each other"};
  }
  if (shared) return {store::Mode::Kind::shared};
  const unsigned number = permits ? number_in(*permits, 1, store::Mode::most_permits) : 1;
  if (number == 1) return {};
  return {store::Mode::Kind::permits, number};
}

base::Millis wait_of(const Settings& settings) {
  const auto wait = settings.find("wait");
  const bool supersede = settings.is_on("supersede");
  const bool wants_wait = settings.on_command_line("wait") && wait_in(*wait) != base::Millis{0};
  if (settings.is_on("nonblock")) {
    if (wants_wait) throw Refusal{ExitCode::usage, "--nonblock and --wait contradict each other"};
    if (supersede) {
      throw Refusal{ExitCode::usage,
                    "--supersede waits until the holder has stopped; --nonblock contradicts that"};
    }
    return base::Millis{0};
  }
  const auto length = wait ? wait_in(*wait) : base::Millis{0};
  if (!supersede || wants_wait) return length;
  if (settings.on_command_line("wait")) {
    throw Refusal{ExitCode::usage,
                  "--supersede waits until the holder has stopped; --wait 0 contradicts that"};
  }
  return length == base::Millis{0} ? base::Millis::max() : length;
}

std::vector<store::LockName> keys_in(const Settings& settings) {
  std::vector<store::LockName> keys;
  for (const std::string& text : settings.all("key")) keys.push_back(key_in("--key", text));
  return together(std::move(keys));
}

std::optional<unsigned> max_waiters_in(const Settings& settings) {
  const auto setting = settings.find("max-waiters");
  if (!setting) return std::nullopt;
  return number_in(*setting, 0, most_waiters);
}

unsigned sync_replicas_in(const Settings& settings) {
  const auto setting = settings.find("sync-replicas");
  return setting ? number_in(*setting, 0, most_replicas) : 0;
}

int conflict_exit_code_in(const Settings& settings) {
  const auto setting = settings.find("conflict-exit-code");
  return setting ? static_cast<int>(number_in(*setting, 0, 255)) : ExitCode::busy;
}

store::Label label_in(const Settings& settings, const store::Label& otherwise) {
  const auto setting = settings.find("label");
  if (!setting) return otherwise;
  auto label = store::Label::from(setting->text);
  if (!label) throw not_accepted(*setting, store::Label::accepted);
  return *std::move(label);
}

}  // namespace

std::vector<store::Claim> ClaimPlan::claims() const {
  const auto token = store::Token::mint(label);
  const auto on_busy = wait == base::Millis{0} ? store::OnBusy::give_up : store::OnBusy::queue;
  const std::string message = supersede ? "superseded by " + token.shown() : "";
  std::vector<store::Claim> result;
  for (const auto& key : keys) {
    result.push_back(
        {key, token, ttl, on_busy, mode, max_waiters, sync_replicas, keys.size() > 1, message});
  }
  return result;
}

std::unique_ptr<store::LockStore> ClaimPlan::open_store() const {
  return local_gate ? store::open_gated(server.spec, server.shown) : store::open(server.spec);
}

std::string ClaimPlan::shown_keys() const {
  std::string text;
  for (const auto& key : keys) {
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", base::printable(key.text()));
  }
  return text;
}

void declare_claim(Settings& settings, const char* ttl_help) {
  settings.repeated("-k,--key", "KEY",
                    "the lock to hold; several are taken in sorted order, all or none");
  settings.option("-t,--ttl", "DUR", ttl_help, Settings::anywhere);
  settings.option("-w,--wait", "DUR",
                  "queue for the lock so long; 'forever'; 0 is one attempt (default 0)",
                  Settings::anywhere);
  settings.flag("-n,--nonblock", "the same as --wait 0");
  settings.flag("-x,--exclusive", "hold the lock alone, as a writer (the default)");
  settings.flag("-s,--shared", "hold it together with other readers");
  settings.option("--permits", "N", "at most N holders at once (default 1)");
  settings.option("--max-waiters", "N", "with so many in the queue: busy, even with --wait",
                  Settings::anywhere);
  settings.flag("--supersede",
                "newest wins: ask the holder to stop, send older waiters away, take the turn");
  settings.flag("--local-gate", "of those who wait on this host, only one does so at the server",
                Settings::anywhere);
  settings.option("--sync-replicas", "N",
                  "a grant counts only once N replicas have confirmed it (default 0)",
                  Settings::anywhere);
  settings.option("-E,--conflict-exit-code", "N",
                  "exit code when the lock was not had (default 75)", Settings::anywhere);
  settings.option("--label", "TEXT", "shown to others in place of the command's name",
                  Settings::anywhere);
}

void require(const ServerChoice& server, store::Feature feature, std::string_view option) {
  if (store::can(server.spec, feature)) return;
  throw Refusal{ExitCode::usage,
                fmt::format("{}: not with {}; rlock(1), SERVER URLS, says which kind of server can",
                            option, server.shown)};
}

namespace {

void require_what_is_wanted(const ClaimPlan& plan) {
  using store::Feature;
  const auto kind = plan.mode.kind;
  if (kind == store::Mode::Kind::shared) require(plan.server, Feature::shared, "--shared");
  if (kind == store::Mode::Kind::permits) require(plan.server, Feature::permits, "--permits");
  if (plan.max_waiters) require(plan.server, Feature::max_waiters, "--max-waiters");
  if (plan.supersede) require(plan.server, Feature::supersede, "--supersede");
  if (plan.local_gate) require(plan.server, Feature::local_gate, "--local-gate");
  if (plan.local_gate && (plan.supersede || plan.max_waiters)) {
    throw Refusal{ExitCode::usage,
                  "--local-gate contradicts --supersede and --max-waiters: who waits behind it "
                  "is not seen at the server"};
  }
  if (plan.sync_replicas > 0) require(plan.server, Feature::sync_replicas, "--sync-replicas");
}

}  // namespace

ClaimPlan understand_claim(const Settings& settings, store::Ttl ttl, const store::Label& label) {
  ClaimPlan plan{understand_server_options(settings),
                 keys_in(settings),
                 mode_in(settings),
                 ttl,
                 wait_of(settings),
                 label_in(settings, label),
                 max_waiters_in(settings),
                 sync_replicas_in(settings),
                 settings.is_on("supersede"),
                 settings.is_on("local-gate"),
                 conflict_exit_code_in(settings)};
  require_what_is_wanted(plan);
  return plan;
}

std::optional<store::Ttl> ttl_in(const Settings& settings) {
  const auto setting = settings.find("ttl");
  if (!setting) return std::nullopt;
  const auto ttl = store::Ttl::from(duration_in(*setting));
  if (!ttl) throw not_accepted(*setting, "100ms to 365d");
  return *ttl;
}

unsigned number_in(const Setting& setting, unsigned least, unsigned most) {
  unsigned number = 0;
  const char* end = setting.text.data() + setting.text.size();
  const auto [stop, error] = std::from_chars(setting.text.data(), end, number);
  if (error != std::errc{} || stop != end || number < least || number > most) {
    throw not_accepted(setting, fmt::format("a number from {} to {}", least, most));
  }
  return number;
}

}  // namespace cmd
