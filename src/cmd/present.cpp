#include "cmd/present.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/options.hpp"
#include "hold/progress.hpp"
#include "os/error.hpp"
#include "os/memory.hpp"
#include "os/stdio.hpp"
#include "store/rules/runs.hpp"

namespace cmd {
namespace {

using store::Holder;
using store::LockReport;

// Ours are far shorter; --json shows what others wrote as it is.
constexpr std::size_t longest_token = 1024;

const char* state_of(const LockReport& report) {
  if (report.holders.empty()) return "free";
  const auto kind = report.holders.front().holder.kind;
  return kind == Holder::Kind::reserved ? "reserved" : "held";
}

std::string shown_holder(const Holder& holder) {
  if (holder.token.empty()) return "a foreign client (its value is empty or no string)";
  std::string who = store::Token::foreign(holder.token).shown();
  switch (holder.kind) {
    case Holder::Kind::foreign: return who + " (a foreign client)";
    case Holder::Kind::kept: return who + " (its job has ended; --min-hold keeps the lock)";
    default: return who;
  }
}

std::time_t moment(base::Millis ago) {
  return std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() - ago);
}

/// For people, in the time zone of this host (TZ).
std::string local_time(base::Millis ago) {
  const std::time_t then = moment(ago);
  std::tm local{};
  ::localtime_r(&then, &local);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", local);
}

/// For programs.
std::string utc_time(base::Millis ago) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(moment(ago)));
}

Json utc_time_or_null(const std::optional<base::Millis>& ago) {
  return ago ? Json(utc_time(*ago)) : Json(nullptr);
}

std::string since(base::Millis ago) {
  return fmt::format("{} ({} ago)", local_time(ago), base::format_duration(ago));
}

std::string until(const Holder& holder) {
  if (!holder.expires_in) {
    switch (holder.ends) {
      case Holder::Ends::with_owner: return "its job ends, or its host dies";
      case Holder::Ends::with_lease: return "it is released, or its lease ends";
      case Holder::Ends::never: break;
    }
    return "it is released: it has no expiry";
  }
  return fmt::format("{} from now{}", base::format_duration(*holder.expires_in),
                     holder.kind == Holder::Kind::kept ? "" : ", unless refreshed");
}

const char* name_of(store::Mode::Kind kind) {
  switch (kind) {
    case store::Mode::Kind::exclusive: return "exclusive";
    case store::Mode::Kind::shared: return "shared";
    case store::Mode::Kind::permits: break;
  }
  return "permits";
}

Json milliseconds(const std::optional<base::Millis>& length) {
  return length ? Json(length->count()) : Json(nullptr);
}

/// The owner that a token names. Fields are null for a foreign one.
Json person(const std::string& text) {
  const auto holder = store::Token::foreign(text).parts();
  const auto field = [&](auto member) { return holder ? Json((*holder).*member) : Json(nullptr); };
  Json json;
  json["token"] = text;
  json["user"] = field(&store::TokenParts::user);
  json["host"] = field(&store::TokenParts::host);
  json["pid"] = holder ? Json(holder->pid) : Json(nullptr);
  json["label"] = field(&store::TokenParts::label);
  json["foreign"] = !holder.has_value();
  return json;
}

/// The --reason of this holder; empty if unknown.
std::string reason_of(const LockReport& report, const std::string& token) {
  const auto run =
      std::find_if(report.runs.begin(), report.runs.end(), [&](const store::Run& each) {
        return each.outcome.kind == store::RunOutcome::Kind::running && each.token.text() == token;
      });
  return run == report.runs.end() ? std::string{} : run->reason;
}

Json holder_of(const LockReport& report, const store::HolderReport& one) {
  Json json = person(one.holder.token);
  json["since"] = utc_time_or_null(one.holder.held_for);
  json["held_ms"] = milliseconds(one.holder.held_for);
  json["ttl_ms"] = milliseconds(one.holder.expires_in);
  json["fence"] = or_null(one.fence);
  json["job_ended"] = one.holder.kind == Holder::Kind::kept;
  const std::string resource = report.mode ? report.mode->name_of(one.permit) : "";
  json["permit"] = one.permit > 0 ? Json(one.permit) : Json(nullptr);
  json["resource"] = resource.empty() ? Json(nullptr) : Json(resource);
  const std::string reason = reason_of(report, one.holder.token);
  json["reason"] = reason.empty() ? Json(nullptr) : Json(reason);
  return json;
}

Json waiter_of(const store::Waiter& waiter) {
  Json json = person(waiter.token.text());
  json["waiting_ms"] = waiter.waiting_for ? Json(waiter.waiting_for->count()) : Json(nullptr);
  json["mode"] = name_of(waiter.mode.kind);
  return json;
}

/// From the grant to the end, or up to now.
std::optional<base::Millis> length_of(const store::Run& run) {
  if (run.outcome.kind == store::RunOutcome::Kind::running) return run.granted_ago;
  return run.held;
}

std::string last_run(const store::Run& run) {
  std::string text = fmt::format("{} by {}", shown_outcome(run.outcome), run.token.shown());
  if (!run.why.empty()) text += fmt::format(": {}", base::one_line(run.why));
  if (const auto ago = run.ended_ago()) return text + ", ended " + since(*ago);
  return text + ", began " + since(run.granted_ago);
}

/// The view of the waiter with that many waiters before it, for hold::expected_wait.
store::Queued queued_behind(const LockReport& report, std::size_t before) {
  store::Queued queued{std::nullopt, before, std::nullopt,
                       store::rules::typical_length(report.runs)};
  if (report.holders.empty()) return queued;
  queued.holder = report.holders.front().holder;
  queued.holder->others = report.holders.size() - 1;
  // The waiter with the reservation is not in the list of waiters.
  if (queued.holder->kind == Holder::Kind::reserved) ++queued.ahead;
  return queued;
}

Json object(const LockReport& report) {
  const bool held = !report.holders.empty();
  const auto longest = held ? report.holders.front().holder : Holder{};
  const bool permits = report.mode && report.mode->kind == store::Mode::Kind::permits;
  Json json;
  json["key"] = report.name.text();
  json["state"] = state_of(report);
  json["mode"] = report.mode ? Json(name_of(report.mode->kind)) : Json(nullptr);
  json["permits"] = permits ? Json(report.mode->permits) : Json(nullptr);
  const bool named = permits && !report.mode->names.empty();
  json["resources"] = named ? Json(report.mode->names) : Json(nullptr);
  json["holder"] = held ? person(longest.token) : Json(nullptr);
  json["held_ms"] = milliseconds(longest.held_for);
  json["ttl_ms"] = milliseconds(longest.expires_in);
  json["fence"] = or_null(report.fence);
  json["holders"] = Json::array();
  for (const auto& each : report.holders) json["holders"].push_back(holder_of(report, each));
  json["waiters"] = Json::array();
  for (const auto& each : report.waiters) {
    const auto queued = queued_behind(report, json["waiters"].size());
    json["waiters"].push_back(waiter_of(each));
    json["waiters"].back()["expected_ms"] = milliseconds(hold::expected_wait(queued, each.mode));
  }
  json["last_run"] = report.runs.empty() ? Json(nullptr) : as_object(report.runs.front());
  return json;
}

std::string mode_text(const store::Mode& mode) {
  if (mode.kind != store::Mode::Kind::permits) return name_of(mode.kind);
  if (mode.names.empty()) return fmt::format("{} permits", mode.permits);
  return fmt::format("one of {}", base::printable(fmt::format("{}", fmt::join(mode.names, ","))));
}

/// "2", or "2 (gpu:1)": which of the permits.
std::string shown_permit(unsigned permit, const std::string& resource) {
  return resource.empty() ? std::to_string(permit)
                          : fmt::format("{} ({})", permit, base::printable(resource));
}

Colour colour_of(const store::RunOutcome& outcome) {
  using Kind = store::RunOutcome::Kind;
  if (outcome == store::RunOutcome{Kind::exited, 0}) return Colour::good;
  const bool undecided = outcome.kind == Kind::running || outcome.kind == Kind::released;
  return undecided ? Colour::none : Colour::bad;
}

constexpr const char* since_unknown = "unknown: the server's clock has gone back";

Colour colour_of_state(const LockReport& report) {
  return report.holders.empty() ? Colour::good : Colour::doubtful;
}

bool is_unknown(const LockReport& report) {
  return report.holders.empty() && report.waiters.empty() && report.runs.empty() && !report.fence;
}

std::string length_or_dash(const std::optional<base::Millis>& length) {
  return length ? base::format_duration(*length) : "-";
}

/// The reason of a holder that gave one.
std::string reason_in_short(const LockReport& report) {
  for (const auto& each : report.holders) {
    if (auto reason = reason_of(report, each.holder.token); !reason.empty()) {
      return base::printable(reason);
    }
  }
  return "-";
}

std::string holders_in_short(const LockReport& report) {
  if (report.holders.empty()) return "-";
  std::string first = shown_holder(report.holders.front().holder);
  if (report.holders.size() == 1) return first;
  return fmt::format("{} and {} more", first, report.holders.size() - 1);
}

}  // namespace

std::string as_table(const LockReport& report, const Look& look) {
  std::string text;
  // A narrow terminal would break lines inside words.
  constexpr std::size_t column = 9;
  const auto line = [&](const std::string& head, const std::string& value) {
    const bool fits = !look.columns || column + base::columns_of(value) <= *look.columns;
    text += head + (fits ? value : wrapped(value, column, *look.columns)) + "\n";
  };
  const auto row = [&](const char* name, const std::string& value) {
    line(fmt::format("{:<8} ", name), value);
  };
  row("key", base::printable(report.name.text()));
  const bool reserved =
      !report.holders.empty() && report.holders.front().holder.kind == Holder::Kind::reserved;
  row("state", painted(state_of(report), colour_of_state(report), look) +
                   (reserved ? ": its next holder was woken and has not come yet" : ""));
  if (report.mode) row("mode", mode_text(*report.mode));
  for (const auto& [holder, fence, permit] : report.holders) {
    row("holder", shown_holder(holder));
    // Copied as a whole, so not broken between words.
    text += fmt::format("token    {}\n", base::printable(holder.token, longest_token));
    const bool is_foreign = holder.kind == Holder::Kind::foreign;
    const bool is_reserved = holder.kind == Holder::Kind::reserved;
    if (holder.held_for) {
      row("since", since(*holder.held_for));
    } else if (!is_foreign && !is_reserved) {
      row("since", since_unknown);
    }
    row("until", until(holder));
    if (const auto reason = reason_of(report, holder.token); !reason.empty()) {
      row("reason", base::printable(reason));
    }
    if (permit > 0 && report.mode) {
      row("permit", shown_permit(permit, report.mode->name_of(permit)));
    }
    if (report.holders.size() > 1 && fence) row("fence", std::to_string(*fence));
  }
  if (report.holders.size() < 2 && report.fence) row("fence", std::to_string(*report.fence));
  const bool free = report.holders.empty();
  if (free && !report.runs.empty()) row("last run", last_run(report.runs.front()));
  if (free && is_unknown(report)) {
    row("last run", "none: the server has never seen this key, or has forgotten it");
  }
  row("waiting", std::to_string(report.waiters.size()));
  std::size_t position = 0;
  for (const store::Waiter& waiter : report.waiters) {
    const bool plain = waiter.mode == store::Mode{};
    const auto queued = queued_behind(report, position);
    const bool expected = hold::expected_wait(queued, waiter.mode).has_value();
    line(fmt::format("  {:>4}   ", ++position),
         fmt::format("{}, {}{}{}", waiter.token.shown(), plain ? "" : mode_text(waiter.mode) + ", ",
                     waiter.waiting_for ? "for " + base::format_duration(*waiter.waiting_for)
                                        : std::string{"since "} + since_unknown,
                     expected ? hold::outlook(queued, waiter.mode) + " to go" : ""));
  }
  return text;
}

std::string as_table(const std::vector<LockReport>& reports, const Look& look,
                     ReasonColumn reasons) {
  using Kind = Column::Kind;
  Table table{{{"KEY", Kind::cut_middle},
               {"STATE", Kind::left, 3},
               {"FOR", Kind::right},
               {"TTL", Kind::right, 1},
               {"WAITING", Kind::right, 2},
               {"HOLDER", Kind::cut_end},
               {"REASON", Kind::cut_end, 0, reasons == ReasonColumn::yes}}};
  for (const LockReport& report : reports) {
    const bool held = !report.holders.empty();
    const auto longest = held ? report.holders.front().holder : Holder{};
    const auto waiting = report.waiters.size();
    table.add({{base::printable(report.name.text())},
               {state_of(report), colour_of_state(report)},
               {length_or_dash(longest.held_for)},
               {length_or_dash(longest.expires_in)},
               {std::to_string(waiting), waiting > 0 ? Colour::doubtful : Colour::none},
               {holders_in_short(report)},
               {reason_in_short(report)}});
  }
  return table.text(look);
}

std::string shown_outcome(const store::RunOutcome& outcome) {
  using Kind = store::RunOutcome::Kind;
  switch (outcome.kind) {
    case Kind::exited: return fmt::format("exit {}", outcome.number);
    case Kind::signalled: return fmt::format("signal {}", outcome.number);
    case Kind::not_started: return "not started";
    default: return std::string{store::name_of(outcome.kind)};
  }
}

std::string shown_done(const store::SlotDone& done) {
  return fmt::format("{}, {} ago by {}", shown_outcome(done.outcome),
                     base::format_duration(done.ended_ago), done.by.shown());
}

/// "2026-11-24", and of a run that is not the first one for it "2026-11-24, run 2".
std::string shown_slot(const store::Run& run) {
  if (run.slot.empty()) return "-";
  const auto slot = base::printable(run.slot);
  return run.attempt > 1 ? fmt::format("{}, run {}", slot, run.attempt) : slot;
}

std::string log_table(const std::vector<LockReport>& reports, KeyColumn keys, const Look& look) {
  using Kind = Column::Kind;
  const bool slots = std::any_of(reports.begin(), reports.end(), [](const LockReport& report) {
    return std::any_of(report.runs.begin(), report.runs.end(),
                       [](const store::Run& run) { return !run.slot.empty(); });
  });
  Table table{{{"KEY", Kind::cut_middle, 0, keys == KeyColumn::yes},
               {"GRANTED", Kind::left},
               {"WAITED", Kind::right, 2},
               {"HELD", Kind::right, 3},
               {"SLOT", Kind::cut_middle, 0, slots},
               {"OUTCOME", Kind::left},
               {"FENCE", Kind::right, 1},
               {"HOLDER", Kind::flows}}};
  for (const LockReport& report : reports) {
    for (const store::Run& run : report.runs) {
      const auto reason =
          run.reason.empty() ? std::string{} : fmt::format(" ({})", base::printable(run.reason));
      const auto why =
          run.why.empty() ? std::string{} : fmt::format(": {}", base::one_line(run.why));
      table.add({{base::printable(report.name.text())},
                 {local_time(run.granted_ago)},
                 {base::format_duration(run.waited)},
                 {length_or_dash(length_of(run))},
                 {shown_slot(run)},
                 {shown_outcome(run.outcome), colour_of(run.outcome)},
                 {std::to_string(run.fence)},
                 {fmt::format("{}{}{}", run.token.shown(), reason, why)}});
    }
  }
  return table.text(look);
}

void add_outcome(Json& json, const store::RunOutcome& outcome) {
  using Kind = store::RunOutcome::Kind;
  const auto [kind, number] = outcome;
  const bool has_code = kind == Kind::exited || kind == Kind::not_started;
  json["outcome"] = store::name_of(kind);
  json["exit_code"] = has_code ? Json(number) : Json(nullptr);
  json["signal"] = kind == Kind::signalled ? Json(number) : Json(nullptr);
}

Json as_object(const store::Run& run) {
  Json json = person(run.token.text());
  json.erase("foreign");
  json["fence"] = run.fence;
  json["granted_at"] = utc_time(run.granted_ago);
  json["ended_at"] = utc_time_or_null(run.ended_ago());
  json["granted_ms_ago"] = run.granted_ago.count();
  json["ended_ms_ago"] = milliseconds(run.ended_ago());
  json["waited_ms"] = run.waited.count();
  json["held_ms"] = milliseconds(length_of(run));
  add_outcome(json, run.outcome);
  json["why"] = run.why.empty() ? Json(nullptr) : Json(run.why);
  json["reason"] = run.reason.empty() ? Json(nullptr) : Json(run.reason);
  json["slot"] = run.slot.empty() ? Json(nullptr) : Json(run.slot);
  json["attempt"] = run.attempt > 0 ? Json(run.attempt) : Json(nullptr);
  return json;
}

void write_log_json(const std::vector<LockReport>& reports, Pieces::Write write) {
  JsonList locks{"locks", std::move(write)};
  for (const LockReport& report : reports) {
    Json lock;
    lock["key"] = report.name.text();
    lock["runs"] = Json::array();
    for (const auto& run : report.runs) lock["runs"].push_back(as_object(run));
    locks.add(lock);
  }
  locks.end();
}

std::string as_json(const LockReport& report) {
  return dumped(object(report));
}

void write_json(const std::vector<LockReport>& reports, Pieces::Write write) {
  JsonList locks{"locks", std::move(write)};
  for (const LockReport& report : reports) locks.add(object(report));
  locks.end();
}

void secure_output() {
  os::occupy_standard_descriptors();
}

bool has_stack() {
  const auto missing = os::missing_stack();
  if (missing) base::log::error("{}", *missing);
  return !missing;
}

void print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) os::fail("writing to stdout");
}

}  // namespace cmd
