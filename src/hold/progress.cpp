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

}  // namespace

std::string describe(const std::optional<store::Holder>& holder) {
  if (!holder) return "free, but others wait for it";
  const std::string who = store::Token::foreign(holder->token).shown();
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
  if (holder->held_for) text += " for " + base::format_duration(*holder->held_for);
  return text;
}

std::string waiting_text(const store::LockName& name, const store::Queued& place,
                         const std::string& trouble, std::optional<std::size_t> columns) {
  const std::string key = base::printable(name.text());
  const std::string state =
      trouble.empty() ? describe(place.holder)
                      : fmt::format("cannot reach the server ({}); trying again", trouble);
  const std::string position =
      trouble.empty() ? fmt::format(", position {}", place.ahead + 1) : std::string{};
  if (!columns) return fmt::format("waiting for '{}': {}{}", key, state, position);
  // Of a long key half a line tells enough, or less, so that the position fits.
  const std::size_t fixed =
      std::min(*columns, std::string_view{"waiting for '': "}.size() + 1 + position.size());
  const std::size_t room = std::max<std::size_t>(std::min(*columns / 2, *columns - fixed), 4);
  const std::string shown = base::fit_columns(key, room);
  return base::fit_columns(fmt::format("waiting for '{}'{}: {}", shown, position, state), *columns);
}

WaitingLine::WaitingLine(store::LockName name)
    : name_{std::move(name)}, terminal_{os::stderr_is_terminal()}, due_{base::Deadline::never()} {}

WaitingLine::~WaitingLine() {
  if (terminal_) base::log::clear_status();
}

void WaitingLine::update(const store::Queued& place, base::Moment now) {
  place_ = place;
  told_at_ = now;
  trouble_.clear();
  if (terminal_ || due_.is_never()) tick(now);
}

void WaitingLine::update(const store::Fault& fault, base::Moment now) {
  const bool news = trouble_.empty();
  trouble_ = fault.why;
  if (terminal_ || news) tick(now);
}

void WaitingLine::tick(base::Moment now) {
  due_ = base::Deadline::after(now, terminal_ ? on_terminal : elsewhere);
  if (base::log::level() == base::log::Level::quiet) return;
  store::Queued place = place_;
  if (place.holder && place.holder->held_for) {
    *place.holder->held_for += std::chrono::duration_cast<base::Millis>(now - told_at_);
  }
  if (!terminal_) return base::log::line(waiting_text(name_, place, trouble_, std::nullopt));
  // A background job does not write over the prompt.
  if (!os::stderr_is_ours()) return;
  // The terminal may have been resized since. It would scroll for a line that fills it.
  constexpr std::size_t prefix = 7;  // "rlock: "
  const std::size_t columns = std::max(os::stderr_columns().value_or(80), prefix + 1);
  base::log::status(waiting_text(name_, place, trouble_, columns - prefix - 1));
}

}  // namespace hold
