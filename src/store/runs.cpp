#include "store/runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/fields.hpp"
#include "base/text.hpp"

namespace store {
namespace {

using Kind = RunOutcome::Kind;

constexpr std::array<std::pair<Kind, std::string_view>, 9> names{{
    {Kind::running, "running"},
    {Kind::exited, "exited"},
    {Kind::signalled, "signalled"},
    {Kind::lost, "lost"},
    {Kind::cancelled, "cancelled"},
    {Kind::superseded, "superseded"},
    {Kind::overran, "overran"},
    {Kind::not_started, "not-started"},
    {Kind::released, "released"},
}};

// The fields of a line, in this order. The three before the reason come with the end; without them
// the reason follows the attempt.
enum Field : std::size_t {
  fence,
  token,
  granted,
  waited,
  slot,
  attempt,
  ended,
  outcome,
  why,
  reason
};
constexpr std::size_t fields_of_open_line = ended;

/// A time in ms since 1970, or a duration; nothing for any other number.
std::optional<std::int64_t> time_in(std::string_view text) {
  constexpr std::int64_t latest = std::int64_t{1} << 52;  // Lua's numbers are exact up to here
  const auto number = base::number_in<std::int64_t>(text);
  return number && *number >= 0 && *number <= latest ? number : std::nullopt;
}

}  // namespace

std::optional<RunOutcome> outcome_in(std::string_view text) {
  const auto space = std::min(text.find(' '), text.size());
  const auto found = std::find_if(names.begin(), names.end(), [&](const auto& each) {
    return each.second == text.substr(0, space);
  });
  if (found == names.end()) return std::nullopt;
  if (space == text.size()) return RunOutcome{found->first};
  const auto number = base::number_in<int>(text.substr(space + 1));
  if (!number) return std::nullopt;
  return RunOutcome{found->first, *number};
}

std::optional<Slot> Slot::from(std::string_view text, unsigned retries) {
  if (text.empty() || text.size() > longest || !base::is_printable(text)) return std::nullopt;
  return Slot{std::string{text}, retries};
}

std::string_view name_of(Kind kind) {
  return std::find_if(names.begin(), names.end(),
                      [&](const auto& each) { return each.first == kind; })
      ->second;
}

std::string fields_of_claim(base::Millis waited, std::string_view slot) {
  return fmt::format("{}\t{}", waited.count(), slot);
}

std::string fields_of_end(const RunEnd& end) {
  return text_of(end.outcome) + '\t' + base::printable(end.why, longest_why);
}

std::string text_of(const RunOutcome& outcome) {
  return fmt::format("{} {}", name_of(outcome.kind), outcome.number);
}

std::optional<Run> run_in(std::string_view line, std::int64_t now_ms, bool holds) {
  const auto fields = base::fields_of(line);
  if (fields.size() < fields_of_open_line) return std::nullopt;
  const auto number = base::number_in<std::uint64_t>(fields[fence]);
  const auto granted_at = time_in(fields[granted]);
  const auto wait = time_in(fields[waited]);
  if (!number || !granted_at || !wait) return std::nullopt;
  // A server's clock may have been set back since.
  const auto ago = [&](std::int64_t then) {
    return base::Millis{std::max<std::int64_t>(now_ms - then, 0)};
  };
  Run run{Token::foreign(std::string{fields[token]}),
          *number,
          ago(*granted_at),
          base::Millis{*wait},
          std::nullopt,
          {holds ? Kind::running : Kind::lost},
          {},
          std::string{fields[Field::slot]},
          base::number_in<unsigned>(fields[attempt]).value_or(0)};
  if (fields.size() <= why) {
    if (fields.size() > fields_of_open_line + 1) return std::nullopt;
    if (fields.size() > fields_of_open_line) run.reason = fields.back();
    return run;
  }
  if (fields.size() > reason) run.reason = fields[Field::reason];
  const auto ended_at = time_in(fields[ended]);
  const auto how = outcome_in(fields[outcome]);
  if (!ended_at || !how) return std::nullopt;
  run.held =
      std::min(ago(*granted_at), base::Millis{std::max<std::int64_t>(*ended_at - *granted_at, 0)});
  run.outcome = *how;
  run.why = fields[why];
  return run;
}

}  // namespace store
