#include "cmd/claim_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "cmd/ci_label.hpp"
#include "cmd/log_output.hpp"
#include "store/backend.hpp"

namespace cmd {
namespace {

constexpr unsigned most_waiters = 1'000'000;
constexpr unsigned most_replicas = 1'000;
// A line on the screen of the user who is stopped or who asks.
constexpr std::size_t longest_reason = 200;

store::Mode mode_in(const Settings& settings) {
  const auto permits = settings.find("permits");
  const auto one_of = settings.find("one-of");
  const bool shared = settings.is_on("shared");
  const bool exclusive = settings.is_on("exclusive");
  if ((exclusive && shared) || (permits && (exclusive || shared))) {
    throw UsageError{ExitCode::usage, "use only one of --exclusive, --shared and --permits"};
  }
  if (one_of && (exclusive || shared || permits)) {
    throw UsageError{
        ExitCode::usage,
        "--one-of cannot be used with --exclusive, --shared or --permits: it gives each "
        "name to one holder"};
  }
  if (shared) return {store::Mode::Kind::shared};
  if (one_of) {
    auto names = store::permit_names_in(one_of->text);
    if (!names) throw not_accepted(*one_of, store::accepted_permit_names);
    if (settings.all("key").size() > 1) {
      throw UsageError{ExitCode::usage,
                       "--one-of names the permits of one key, and there are several keys"};
    }
    const auto number = static_cast<unsigned>(names->size());
    return {store::Mode::Kind::permits, number, *std::move(names)};
  }
  const unsigned number = permits ? number_of(*permits, 1, store::Mode::most_permits) : 1;
  if (number == 1) return {};
  return {store::Mode::Kind::permits, number};
}

Supersede supersede_in(const Settings& settings) {
  const auto setting = settings.find("supersede");
  if (!setting) return Supersede::nobody;
  if (setting->text == "all") return Supersede::all;
  if (setting->text == "waiting") return Supersede::waiting;
  const auto answer = yes_or_no(setting->text);
  if (!answer) throw not_accepted(*setting, "all, waiting, yes (the same as all) or no");
  return *answer ? Supersede::all : Supersede::nobody;
}

base::Millis wait_in(const Settings& settings, Supersede whom) {
  const auto wait = settings.value("wait");
  const bool supersede = whom != Supersede::nobody;
  const bool wants_wait = settings.on_command_line("wait") && wait_of(wait) != base::Millis{0};
  if (settings.is_on("nonblock")) {
    if (wants_wait)
      throw UsageError{ExitCode::usage, "--nonblock and --wait contradict each other"};
    if (supersede) {
      throw UsageError{
          ExitCode::usage,
          "--supersede waits until the holder has stopped; it cannot be used with --nonblock"};
    }
    return base::Millis{0};
  }
  const auto length = wait_of(wait);
  if (!supersede || wants_wait) return length;
  if (settings.on_command_line("wait")) {
    throw UsageError{
        ExitCode::usage,
        "--supersede waits until the holder has stopped; it cannot be used with --wait 0"};
  }
  return length == base::Millis{0} ? base::Millis::max() : length;
}

std::vector<store::LockName> keys_in(const Settings& settings) {
  std::vector<store::LockName> keys;
  for (const std::string& text : settings.all("key")) keys.push_back(key_of("--key", text));
  return sorted_keys(std::move(keys));
}

std::optional<unsigned> max_waiters_in(const Settings& settings) {
  const auto setting = settings.find("max-waiters");
  if (!setting) return std::nullopt;
  return number_of(*setting, 0, most_waiters);
}

unsigned sync_replicas_in(const Settings& settings) {
  return number_of(settings.value("sync-replicas"), 0, most_replicas);
}

int conflict_exit_code_in(const Settings& settings) {
  return static_cast<int>(number_of(settings.value("conflict-exit-code"), 0, 255));
}

store::Label label_in(const Settings& settings, const store::Label& otherwise) {
  const auto setting = settings.find("label");
  if (!setting) return ci_label().value_or(otherwise);
  // Somebody's name for a job may be a long URL; its beginning will do.
  auto label = store::Label::from(base::cut_to(setting->text, store::Label::longest));
  if (!label) throw not_accepted(*setting, store::Label::accepted);
  return *std::move(label);
}

void require_features(const ClaimPlan& plan) {
  using store::Feature;
  const auto kind = plan.mode.kind;
  if (kind == store::Mode::Kind::shared) require(plan.server, Feature::shared, "--shared");
  if (kind == store::Mode::Kind::permits) {
    require(plan.server, Feature::permits, plan.mode.names.empty() ? "--permits" : "--one-of");
  }
  if (plan.max_waiters) require(plan.server, Feature::max_waiters, "--max-waiters");
  const bool supersedes = plan.supersede != Supersede::nobody;
  if (supersedes) require(plan.server, Feature::supersede, "--supersede");
  if (plan.local_gate) require(plan.server, Feature::local_gate, "--local-gate");
  if (plan.local_gate && (supersedes || plan.max_waiters)) {
    throw UsageError{
        ExitCode::usage,
        "--local-gate cannot be used with --supersede or --max-waiters: the server does "
        "not see the waiters behind the gate"};
  }
  if (plan.sync_replicas > 0) require(plan.server, Feature::sync_replicas, "--sync-replicas");
}

}  // namespace

std::vector<store::Claim> ClaimPlan::claims() const {
  const auto token = store::Token::mint(label);
  const auto on_busy = wait == base::Millis{0} ? store::OnBusy::give_up : store::OnBusy::queue;
  std::string message;
  if (supersede != Supersede::nobody) {
    message = std::string{store::superseded_by} + token.shown();
    if (!reason.empty()) message += ": " + reason;
  }
  std::vector<store::Claim> result;
  for (const auto& key : keys) {
    result.push_back({key, token, ttl, on_busy, mode, max_waiters, sync_replicas, keys.size() > 1,
                      message, supersede == Supersede::waiting, history});
    result.back().slot = slot;
    result.back().reason = reason;
    result.back().outlives = outlives;
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

ClaimPlan resolve_claim(const Settings& settings, store::Ttl ttl, const store::Label& label) {
  const auto supersede = supersede_in(settings);
  ClaimPlan plan{resolve_server(settings),
                 keys_in(settings),
                 mode_in(settings),
                 ttl,
                 wait_in(settings, supersede),
                 label_in(settings, label),
                 max_waiters_in(settings),
                 sync_replicas_in(settings),
                 supersede,
                 settings.is_on("local-gate"),
                 conflict_exit_code_in(settings)};
  plan.history = history_in(settings);
  set_log_keys(plan.keys);
  plan.reason = reason_in(settings);
  if (!plan.reason.empty() && plan.supersede == Supersede::nobody) {
    if (plan.history == base::Millis{0}) {
      throw UsageError{ExitCode::usage,
                       "--reason cannot be used with --history 0: it is kept with the run"};
    }
  }
  require_features(plan);
  return plan;
}

base::Millis history_in(const Settings& settings) {
  const auto setting = settings.value("history");
  const auto length = duration_of(setting);
  if (length > store::Ttl::longest) {
    throw not_accepted(setting, "up to " + base::format_duration(store::Ttl::longest));
  }
  return length;
}

std::string reason_in(const Settings& settings) {
  const auto reason = settings.find("reason");
  if (!reason) return {};
  if (reason->text.size() > longest_reason) {
    throw not_accepted(*reason, fmt::format("up to {} bytes", longest_reason));
  }
  std::string line = reason->text;
  std::replace_if(
      line.begin(), line.end(), [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }, ' ');
  return line;
}

std::optional<store::Ttl> ttl_in(const Settings& settings) {
  const auto setting = settings.value("ttl");
  if (setting.text.empty() && setting.origin == Setting::Origin::standard) return std::nullopt;
  const auto ttl = store::Ttl::from(duration_of(setting));
  if (!ttl) {
    throw not_accepted(setting, fmt::format("{} to {}", base::format_duration(store::Ttl::shortest),
                                            base::format_duration(store::Ttl::longest)));
  }
  return *ttl;
}

store::LockName key_of(std::string_view source, const std::string& text) {
  auto name = store::LockName::from(text);
  if (!name) {
    throw not_accepted(source, text,
                       fmt::format("a key of 1 to {} bytes", store::LockName::longest));
  }
  return *std::move(name);
}

std::vector<store::LockName> sorted_keys(std::vector<store::LockName> keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const auto& key : keys) {
    if (keys.size() > 1 && key.text().find('\n') != std::string::npos) {
      throw not_accepted("--key", key.text(), "keys without a newline where there are several");
    }
  }
  return keys;
}

store::LockName only_key(const Settings& settings, const std::vector<std::string>& operands) {
  std::vector<std::string> all = settings.all("key");
  all.insert(all.end(), operands.begin(), operands.end());
  if (all.empty()) {
    throw UsageError{ExitCode::usage, "no KEY given; for those that are held: rlock list"};
  }
  if (all.size() > 1) {
    throw UsageError{ExitCode::usage,
                     fmt::format("unexpected argument '{}'; give one KEY", shown_word(all[1]))};
  }
  auto key = key_of("KEY", all.front());
  set_log_keys({key});
  return key;
}

}  // namespace cmd
