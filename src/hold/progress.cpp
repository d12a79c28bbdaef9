#include "hold/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "os/stdio.hpp"

namespace hold {
namespace {

constexpr base::Millis on_terminal{1'000};
constexpr base::Millis elsewhere{60'000};
// A log does not mention a shorter wait.
constexpr base::Millis worth_a_line{1'000};
// A state that is older may name a holder whose run has ended since.
constexpr base::Millis still_true{250};
// The pause between two lines about changes: an hour's wait logs at most 360 lines.
constexpr base::Millis between_changes{10'000};

/// As precise as an estimate can be.
std::string rough(base::Millis length) {
  using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
  base::Millis step = hours{1};
  if (length < hours{10}) step = minutes{10};
  if (length < hours{2}) step = minutes{5};
  if (length < minutes{30}) step = minutes{1};
  if (length < minutes{4}) step = seconds{15};
  if (length < minutes{1}) step = seconds{5};
  if (length < seconds{20}) step = seconds{1};
  if (length < seconds{2}) step = base::Millis{100};
  std::string text = base::format_duration(std::max((length + step / 2) / step * step, step));
  for (const std::string_view nothing : {"m0s", "h0m"}) {
    if (text.ends_with(nothing)) text.resize(text.size() - 2);
  }
  return text;
}

/// The time until the first holder is done; nothing if unknown.
std::optional<base::Millis> until_first_end(const store::Queued& queued, base::Millis typical) {
  using Kind = store::Holder::Kind;
  // Free, or reserved for the first waiter ahead of us.
  if (!queued.holder || queued.holder->kind == Kind::reserved) return base::Millis{0};
  const store::Holder& holder = *queued.holder;
  if (holder.kind == Kind::kept) return holder.expires_in;
  if (holder.kind != Kind::holder || !holder.held_for) return std::nullopt;
  if (*holder.held_for > 2 * typical) return std::nullopt;
  // If it is late by less, it may end at any time.
  return std::max(typical - *holder.held_for, typical / 10);
}

void say(const store::LockName& name, const store::Queued& queued, const store::Mode& mode,
         const std::string& trouble) {
  base::log::Event event{trouble.empty() ? "waiting" : "unreachable"};
  event.with("key", name.text());
  if (trouble.empty()) {
    event.with("position", static_cast<std::int64_t>(queued.ahead + 1));
    if (queued.holder) event.with("holder", store::Token::foreign(queued.holder->token).shown());
    if (queued.holder && queued.holder->held_for) {
      event.with("held_ms", queued.holder->held_for->count());
    }
    if (const auto wait = expected_wait(queued, mode)) event.with("expected_ms", wait->count());
  }
  event.notice("{}", waiting_text(name, queued, mode, trouble));
}

/// The facts about a holder that fit on a line.
enum class Facts { all, time, name };

std::string shown_token(const store::Holder& holder) {
  return store::Token::foreign(holder.token).shown();
}

std::string said_of(const std::optional<store::Holder>& holder, Facts facts) {
  if (!holder) return "free, but others wait for it";
  const std::string who = shown_token(*holder);
  std::string text;
  switch (holder->kind) {
    case store::Holder::Kind::holder: text = fmt::format("held by {}", who); break;
    case store::Holder::Kind::kept:
      text = fmt::format("kept by --min-hold after the job of {}", who);
      break;
    case store::Holder::Kind::reserved: text = fmt::format("reserved for {}", who); break;
    case store::Holder::Kind::neighbour: text = fmt::format("behind {} of this host", who); break;
    case store::Holder::Kind::foreign:
      text = holder->token.empty() ? "held by a foreign client (its value is empty or no string)"
                                   : fmt::format("held by a foreign client ({})", who);
      if (!holder->expires_in) text += ", without expiry";
      break;
  }
  if (holder->others > 0) text += fmt::format(" and {} more", holder->others);
  if (facts == Facts::name) return text;
  if (holder->held_for) text += " for " + base::format_duration(*holder->held_for);
  if (facts == Facts::time || holder->reason.empty()) return text;
  return text + " (" + base::printable(holder->reason) + ")";
}

/// `since`: "waited 12s", or empty.
std::string trouble_text(const std::string& key, const std::string& trouble,
                         const std::string& since, std::size_t columns) {
  const std::string own = since.empty() ? "waiting" : since;
  std::string line =
      fmt::format("{} for '{}': cannot reach the server ({}); trying again", own, key, trouble);
  if (base::columns_of(line) <= columns) return line;
  return base::fit_columns(fmt::format("{}: cannot reach the server ({})", own, trouble), columns);
}

/// Whether the difference interests people. (A holder that confirms its reservation does not.)
bool differ(const store::Queued& one, const store::Queued& other) {
  const auto token = [](const store::Queued& queued) {
    return queued.holder ? queued.holder->token : std::string{};
  };
  return one.ahead != other.ahead || token(one) != token(other);
}

}  // namespace

std::optional<base::Millis> expected_wait(const store::Queued& queued, const store::Mode& mode) {
  if (!queued.typical_run || mode.kind == store::Mode::Kind::shared) return std::nullopt;
  // A run cannot be longer than the longest lease, so no product overflows.
  const base::Millis longest = store::Ttl::longest;
  const base::Millis typical = std::min(*queued.typical_run, longest);
  base::Millis::rep at_once = mode.permits;
  auto first = until_first_end(queued, typical);
  const bool one_of_several = at_once > 1 && queued.holder && queued.holder->others > 0;
  if (!first && one_of_several) {
    // The longest of several holders hangs; the others make room.
    --at_once;
    first = typical / at_once;
  }
  if (!first) return std::nullopt;
  const auto turns = static_cast<base::Millis::rep>(
      std::min<std::size_t>(queued.ahead, store::Mode::most_permits));
  return std::min(*first + typical * turns / at_once, longest);
}

std::string outlook(const store::Queued& queued, const store::Mode& mode) {
  if (const auto wait = expected_wait(queued, mode)) {
    return ", about " + rough(*wait);
  }
  const bool late = queued.typical_run && queued.holder && queued.holder->held_for &&
                    *queued.holder->held_for > *queued.typical_run;
  if (!late || mode.kind == store::Mode::Kind::shared) return {};
  return ", runs usually take " + rough(*queued.typical_run);
}

std::string describe(const std::optional<store::Holder>& holder) {
  return said_of(holder, Facts::all);
}

std::string waiting_text(const store::LockName& name, const store::Queued& queued,
                         const store::Mode& mode, const std::string& trouble) {
  const std::string key = base::printable(name.text());
  if (!trouble.empty()) {
    return fmt::format("waiting for '{}': cannot reach the server ({}); trying again", key,
                       trouble);
  }
  return fmt::format("waiting for '{}': {}, position {}{}", key, describe(queued.holder),
                     queued.ahead + 1, outlook(queued, mode));
}

std::string status_text(const store::LockName& name, const store::Queued& queued,
                        const store::Mode& mode, const std::string& trouble, base::Millis waited,
                        std::size_t columns) {
  const std::string key = base::printable(name.text());
  const auto whole = std::chrono::floor<std::chrono::seconds>(waited);
  const std::string since =
      whole.count() > 0 ? "waited " + base::format_duration(whole) : std::string{};
  if (!trouble.empty()) return trouble_text(key, trouble, since, columns);
  const auto wait = expected_wait(queued, mode);
  const std::string own = since.empty() ? since : ", " + since;
  const std::string words =
      fmt::format("position {}{}{}", queued.ahead + 1, own, outlook(queued, mode));
  const std::string brief =
      fmt::format("#{}{}{}", queued.ahead + 1, own, wait ? ", ~" + rough(*wait) : std::string{});
  const auto& holder = queued.holder;
  for (const std::string& line :
       {fmt::format("{}: '{}' is {}", words, key, said_of(holder, Facts::all)),
        fmt::format("{}: '{}' {}", brief, key, said_of(holder, Facts::all)),
        fmt::format("{}: '{}' {}", brief, key, said_of(holder, Facts::time)),
        fmt::format("{}: '{}' {}", brief, key, said_of(holder, Facts::name))}) {
    if (base::columns_of(line) <= columns) return line;
  }
  // A cut key or name is of use from this length on.
  constexpr std::size_t shortest_part = 8;
  const std::string state = said_of(holder, Facts::name);
  const std::size_t taken = base::columns_of(brief) + 2 + base::columns_of(state);
  constexpr std::size_t quotes = 3;  // and a blank
  if (taken + quotes + shortest_part <= columns) {
    const auto part = base::fit_middle(key, columns - taken - quotes);
    return fmt::format("{}: '{}' {}", brief, part, state);
  }
  if (taken <= columns) return brief + ": " + state;
  if (base::columns_of(brief) + 2 + shortest_part > columns) {
    return base::fit_columns(brief, columns);
  }
  return base::fit_columns(brief + ": " + (holder ? shown_token(*holder) : state), columns);
}

WaitingLine::WaitingLine(store::LockName name, store::Mode mode, base::Moment began)
    : name_{std::move(name)},
      mode_{std::move(mode)},
      terminal_{base::log::is_for_people() && os::stderr_is_terminal()},
      began_{began},
      due_{base::Deadline::never()} {}

WaitingLine::~WaitingLine() {
  if (terminal_) base::log::clear_status();
}

void WaitingLine::update(const store::Queued& queued, base::Moment now) {
  queued_ = queued;
  told_at_ = now;
  trouble_.clear();
  if (terminal_) return tick(now);
  if (!is_told_) {
    if (!first_) first_ = base::Deadline::after(now, worth_a_line);
    if (first_->passed(now)) return tick(now);
    due_ = *first_;
    return;
  }
  if (!differ(queued, said_)) return;
  const auto next = base::Deadline::after(said_at_, between_changes);
  if (next.passed(now)) return tick(now);
  due_ = std::min(due_, next);
}

void WaitingLine::update(const store::Fault& fault, base::Moment now) {
  const bool news = trouble_.empty();
  trouble_ = fault.why;
  if (terminal_ || news) tick(now);
}

base::Deadline WaitingLine::first_line_due() const {
  const bool is_to_come = !terminal_ && !is_told_ && base::log::level() != base::log::Level::quiet;
  return is_to_come ? first_.value_or(base::Deadline::never()) : base::Deadline::never();
}

bool WaitingLine::wants_news(base::Moment now) const {
  return !terminal_ && !is_told_ && trouble_.empty() && now - told_at_ > still_true;
}

void WaitingLine::tick(base::Moment now) {
  due_ = base::Deadline::after(now, terminal_ ? on_terminal : elsewhere);
  said_ = queued_;
  said_at_ = now;
  is_told_ = is_told_ || trouble_.empty();
  if (base::log::level() == base::log::Level::quiet) return;
  store::Queued queued = queued_;
  if (queued.holder && queued.holder->held_for) {
    *queued.holder->held_for += std::chrono::duration_cast<base::Millis>(now - told_at_);
  }
  if (!terminal_) return say(name_, queued, mode_, trouble_);
  // A background job must not write over the prompt.
  if (!os::stderr_is_ours()) return;
  // The terminal may have been resized. It would scroll if the line filled it.
  constexpr std::size_t prefix = 7;  // "rlock: "
  const std::size_t columns = std::max(os::stderr_columns().value_or(80), prefix + 1);
  const auto waited = std::chrono::duration_cast<base::Millis>(now - began_);
  base::log::status(status_text(name_, queued, mode_, trouble_, waited, columns - prefix - 1));
}

}  // namespace hold
