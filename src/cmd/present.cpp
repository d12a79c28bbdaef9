#include "cmd/present.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/duration.hpp"
#include "base/text.hpp"

namespace cmd {
namespace {

using nlohmann::ordered_json;
using store::LockReport;
using store::Occupant;

const char* state_of(const LockReport& report) {
  if (!report.occupant) return "free";
  return report.occupant->kind == Occupant::Kind::reserved ? "reserved" : "held";
}

std::string shown_holder(const Occupant& occupant) {
  if (occupant.token.empty()) return "a foreign client (the value is no string)";
  const std::string who = store::Token::foreign(occupant.token).shown();
  return occupant.kind == Occupant::Kind::foreign ? who + " (a foreign client)" : who;
}

/// The wall clock, for people only.
std::string since(base::Millis ago) {
  const auto then = std::chrono::system_clock::now() - ago;
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC ({} ago)",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(then)),
                     base::format_duration(ago));
}

std::string until(const Occupant& occupant) {
  if (!occupant.expires_in) return "it is released: it has no expiry";
  return fmt::format("{} from now, unless refreshed", base::format_duration(*occupant.expires_in));
}

template <class Value>
ordered_json or_null(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json milliseconds(const std::optional<base::Millis>& length) {
  return length ? ordered_json(length->count()) : ordered_json(nullptr);
}

/// What a token says about its owner. Fields are null for a foreign one.
ordered_json person(const std::string& text) {
  const auto holder = store::Token::foreign(text).holder();
  const auto field = [&](auto member) {
    return holder ? ordered_json((*holder).*member) : ordered_json(nullptr);
  };
  ordered_json json;
  json["token"] = text;
  json["user"] = field(&store::Holder::user);
  json["host"] = field(&store::Holder::host);
  json["pid"] = holder ? ordered_json(holder->pid) : ordered_json(nullptr);
  json["label"] = field(&store::Holder::label);
  json["foreign"] = !holder.has_value();
  return json;
}

ordered_json object(const LockReport& report) {
  ordered_json json;
  json["key"] = report.name.text();
  json["state"] = state_of(report);
  json["holder"] = report.occupant ? person(report.occupant->token) : ordered_json(nullptr);
  json["held_ms"] = milliseconds(report.occupant ? report.occupant->held_for : std::nullopt);
  json["ttl_ms"] = milliseconds(report.occupant ? report.occupant->expires_in : std::nullopt);
  json["fence"] = or_null(report.fence);
  json["waiters"] = ordered_json::array();
  for (const store::Waiter& waiter : report.waiters) {
    ordered_json entry = person(waiter.token.text());
    entry["waiting_ms"] = waiter.waiting_for.count();
    json["waiters"].push_back(std::move(entry));
  }
  return json;
}

/// ASCII only, so that no escape sequence of somebody's name reaches a terminal; bytes that are no
/// UTF-8 become U+FFFD.
std::string dumped(const ordered_json& json) {
  return json.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string as_table(const LockReport& report) {
  std::string text;
  const auto row = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<8} {}\n", name, value);
  };
  row("key", base::printable(report.name.text()));
  row("state", state_of(report));
  if (const auto& occupant = report.occupant) {
    row("holder", shown_holder(*occupant));
    row("token", base::printable(occupant->token));
    if (occupant->held_for) row("since", since(*occupant->held_for));
    row("until", until(*occupant));
  }
  if (report.fence) row("fence", std::to_string(*report.fence));
  row("waiting", std::to_string(report.waiters.size()));
  std::size_t position = 0;
  for (const store::Waiter& waiter : report.waiters) {
    text += fmt::format("  {:>4}   {}, for {}\n", ++position, waiter.token.shown(),
                        base::format_duration(waiter.waiting_for));
  }
  return text;
}

std::string as_table(const std::vector<LockReport>& reports) {
  std::size_t width = 3;
  for (const LockReport& report : reports) {
    width = std::max(width, base::printable(report.name.text()).size());
  }
  std::string text = fmt::format("{:<{}}  {:<8}  {:>7}  {:>7}  {:>7}  {}\n", "KEY", width, "STATE",
                                 "FOR", "TTL", "WAITING", "HOLDER");
  for (const LockReport& report : reports) {
    const auto length = [](const std::optional<base::Millis>& millis) {
      return millis ? base::format_duration(*millis) : std::string{"-"};
    };
    const auto& occupant = report.occupant;
    text +=
        fmt::format("{:<{}}  {:<8}  {:>7}  {:>7}  {:>7}  {}\n", base::printable(report.name.text()),
                    width, state_of(report), length(occupant ? occupant->held_for : std::nullopt),
                    length(occupant ? occupant->expires_in : std::nullopt), report.waiters.size(),
                    occupant ? shown_holder(*occupant) : "-");
  }
  return text;
}

std::string as_json(const LockReport& report) {
  return dumped(object(report));
}

std::string as_json(const std::vector<LockReport>& reports) {
  ordered_json json;
  json["locks"] = ordered_json::array();
  for (const LockReport& report : reports) json["locks"].push_back(object(report));
  return dumped(json);
}

}  // namespace cmd
