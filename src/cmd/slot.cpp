#include "cmd/slot.hpp"

#include <fmt/chrono.h>

#include <charconv>

namespace cmd {
namespace {

constexpr unsigned most_retries = 1'000;
constexpr std::string_view accepted =
    "up to 128 bytes of printable text, or @day, @week, @month, @hour, or a part that divides the "
    "hour or the day: @15m, @6h";

/// "15m", "6h", "hour": how many minutes; nothing for what divides neither the hour nor the day.
std::optional<int> minutes_in(std::string_view text) {
  if (text == "hour") return 60;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number <= 0) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit == "m" && 60 % number == 0) return number;
  if (unit == "h" && 24 % number == 0 && number < 24) return number * 60;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> slot_named(std::string_view text, std::time_t now) {
  if (!text.starts_with('@')) return std::string{text};
  text.remove_prefix(1);
  std::tm local{};
  ::localtime_r(&now, &local);
  if (text == "day") return fmt::format("{:%Y-%m-%d}", local);
  if (text == "week") return fmt::format("{:%G-W%V}", local);
  if (text == "month") return fmt::format("{:%Y-%m}", local);
  const auto minutes = minutes_in(text);
  if (!minutes) return std::nullopt;
  const int passed = local.tm_hour * 60 + local.tm_min;
  const int begin = passed - passed % *minutes;
  local.tm_hour = begin / 60;
  local.tm_min = begin % 60;
  if (*minutes > 60) {
    // The clock may have been changed since the window began.
    local.tm_isdst = -1;
    (void)std::mktime(&local);
  }
  // The hour alone where that says all.
  return *minutes % 60 == 0 ? fmt::format("{:%Y-%m-%dT%H%z}", local)
                            : fmt::format("{:%Y-%m-%dT%H:%M%z}", local);
}

std::optional<store::Slot> slot_in(const Settings& settings, const ClaimPlan& plan) {
  const auto setting = settings.find("slot");
  if (!setting) {
    // A config file may say for every slot how often it may be run again.
    for (const OptionName option : {OptionName{"share"}, OptionName{"retry"}}) {
      if (!settings.on_command_line(option)) continue;
      throw UsageError{ExitCode::usage, fmt::format("--{} works only with --slot", option.text())};
    }
    return std::nullopt;
  }
  const auto name = slot_named(setting->text, std::time(nullptr));
  const auto retries = number_of(settings.value("retry"), 0, most_retries);
  auto slot = name ? store::Slot::from(*name, retries) : std::nullopt;
  if (!slot) throw not_accepted(*setting, accepted);
  const auto refuse = [](bool given, const char* what) {
    if (given)
      throw UsageError{ExitCode::usage, fmt::format("--slot cannot be used with {}", what)};
  };
  refuse(plan.mode.kind == store::Mode::Kind::shared, "--shared");
  refuse(!plan.mode.names.empty(), "--one-of");
  refuse(plan.mode.kind == store::Mode::Kind::permits, "--permits");
  refuse(plan.supersede != Supersede::nobody, "--supersede");
  refuse(plan.keys.size() > 1, "several keys");
  refuse(plan.history == base::Millis{0}, "--history 0: the server would forget the slot");
  return slot;
}

}  // namespace cmd
