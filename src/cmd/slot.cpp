#include "cmd/slot.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "cmd/report.hpp"
#include "os/time_zone.hpp"

namespace cmd {
namespace {

constexpr unsigned most_retries = 1'000;
constexpr std::string_view accepted =
    "up to 128 bytes of printable text, or @day, @week, @month, @hour, or a part that divides the "
    "hour or the day: @15m, @6h";
// "@=day" is the slot "day".
constexpr std::string_view literally = "@=";

/// A name of a period, and what it is behind an @; crontab(5) has some of them.
struct Word {
  std::string_view text;
  std::string_view meant;  // empty: there is no such slot
  bool is_accepted;        // behind an @
};
constexpr std::array words{
    Word{"day", "day", true},      Word{"hour", "hour", true},     Word{"week", "week", true},
    Word{"month", "month", true},  Word{"daily", "day", true},     Word{"hourly", "hour", true},
    Word{"weekly", "week", true},  Word{"monthly", "month", true}, Word{"midnight", "day", true},
    Word{"nightly", "day", false}, Word{"today", "day", false},    Word{"minute", "1m", false},
    Word{"minutely", "1m", false}, Word{"year", "", false},        Word{"yearly", "", false},
    Word{"annually", "", false},
};

const Word* word_of(std::string_view text) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const Word& each) {
    return std::equal(each.text.begin(), each.text.end(), text.begin(), text.end(),
                      [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
  });
  return found == words.end() ? nullptr : &*found;
}

/// "15m", "24h": a length of time. A commit's name may be all digits but for the last, and is
/// longer.
bool is_length(std::string_view text) {
  const auto unit = text.find_first_not_of("0123456789");
  return unit >= 1 && unit <= 3 && unit + 1 == text.size() &&
         std::string_view{"smhdw"}.find(text[unit]) != std::string_view::npos;
}

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

/// Where a slot of the clock was meant, by all that we see, and none was named: as an id it would
/// be done once and for all.
void refuse_periods(std::string_view text) {
  const bool at = text.starts_with('@');
  const auto name = text.substr(at ? 1 : 0);
  const Word* word = word_of(name);
  const auto by_itself =
      at ? "" : fmt::format(" For the slot of that name: '{}{}'", literally, name);
  const auto no_period = [&] {
    return not_accepted("--slot", text, std::string{accepted} + (at ? "" : ".") + by_itself);
  };
  if (word != nullptr && !(at && word->is_accepted && word->text == name)) {
    if (word->meant.empty()) throw no_period();
    const auto meant = word->is_accepted ? word->text : word->meant;
    throw UsageError{ExitCode::usage,
                     fmt::format("--slot: '{}' is not valid; did you mean '@{}'?{}",
                                 shown_word(text), meant, by_itself)};
  }
  if (at || !is_length(name)) return;
  if (!minutes_in(name)) throw no_period();
  throw UsageError{
      ExitCode::usage,
      fmt::format("--slot: '{0}' is not valid; did you mean '@{0}'?{1}", name, by_itself)};
}

/// In UTC the slots of another zone would be others, and not those of other hosts.
void require_time_zone(std::string_view text) {
  const auto zone = os::missing_time_zone();
  if (!zone) return;
  throw UsageError{
      ExitCode::bad_config,
      fmt::format("--slot {}: this host has no data for its time zone '{}'; correct TZ "
                  "or /etc/localtime, or install the package tzdata",
                  text, shown_word(*zone))};
}

}  // namespace

std::optional<std::string> slot_named(std::string_view text, std::time_t now) {
  if (!text.starts_with('@')) return std::string{text};
  if (text.starts_with(literally)) return std::string{text.substr(literally.size())};
  text.remove_prefix(1);
  if (const Word* word = word_of(text); word != nullptr && word->is_accepted) {
    if (word->text != text) return std::nullopt;
    text = word->meant;
  }
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
  const std::string& text = setting->text;
  refuse_periods(text);
  const auto name = slot_named(text, std::time(nullptr));
  const auto retries = number_of(settings.value("retry"), 0, most_retries);
  auto slot = name ? store::Slot::from(*name, retries) : std::nullopt;
  if (!slot) throw not_accepted(*setting, accepted);
  if (text.starts_with('@') && !text.starts_with(literally)) require_time_zone(text);
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
