#include "hold/progress.hpp"

#include <fmt/format.h>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "os/stdio.hpp"

namespace hold {
namespace {

constexpr base::Millis on_terminal{1'000};
constexpr base::Millis elsewhere{60'000};

}  // namespace

std::string describe(const std::optional<store::Holder>& occupant) {
  if (!occupant) return "free, but others wait for it";
  const std::string who = store::Token::foreign(occupant->token).shown();
  std::string text;
  switch (occupant->kind) {
    case store::Holder::Kind::holder: text = fmt::format("held by {}", who); break;
    case store::Holder::Kind::reserved: text = fmt::format("reserved for {}", who); break;
    case store::Holder::Kind::neighbour: text = fmt::format("behind {} of this host", who); break;
    case store::Holder::Kind::foreign:
      text = occupant->token.empty() ? "held by a foreign client (its value is empty or no string)"
                                     : fmt::format("held by a foreign client ({})", who);
      if (!occupant->expires_in) text += ", without expiry";
      break;
  }
  if (occupant->others > 0) text += fmt::format(" and {} more", occupant->others);
  if (occupant->held_for) text += " for " + base::format_duration(*occupant->held_for);
  return text;
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
  if (terminal_ && !os::is_in_foreground()) return;  // the line is the shell's prompt
  std::optional<store::Holder> occupant = place_.occupant;
  if (occupant && occupant->held_for) {
    *occupant->held_for += std::chrono::duration_cast<base::Millis>(now - told_at_);
  }
  const std::string state =
      trouble_.empty() ? fmt::format("{}, position {}", describe(occupant), place_.ahead + 1)
                       : fmt::format("cannot reach the server ({}); trying again", trouble_);
  const std::string text =
      fmt::format("waiting for '{}': {}", base::printable(name_.text()), state);
  terminal_ ? base::log::status(text) : base::log::line(text);
}

}  // namespace hold
