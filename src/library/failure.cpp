#include "library/failure.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/duration.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "hold/progress.hpp"

namespace library {

using rlock::Failure;
using rlock::Reason;

namespace {

std::string quoted(const store::LockName& name) {
  return fmt::format("'{}'", base::printable(name.text()));
}

std::optional<rlock::Holder> holder_of(const std::optional<store::Holder>& holder) {
  if (!holder) return std::nullopt;
  return rlock::Holder{holder->token, store::Token::foreign(holder->token).shown(), holder->reason,
                       holder->held_for, holder->expires_in};
}

Failure gave_up(const hold::GaveUp& gave_up) {
  using Why = hold::GaveUp::Why;
  const auto who = quoted(gave_up.name) + " is " + hold::describe(gave_up.holder);
  const auto failure = [&](Reason reason, std::string text) {
    return Failure{reason, std::move(text), gave_up.name.text(), holder_of(gave_up.holder),
                   gave_up.others};
  };
  switch (gave_up.why) {
    case Why::timed_out: return failure(Reason::timed_out, "waited in vain: " + who);
    case Why::crowded:
      return failure(Reason::crowded,
                     fmt::format("{}, and its queue is full ({} waiting)", who, gave_up.others));
    case Why::busy:
    case Why::nested: break;
  }
  return failure(Reason::busy, who);
}

Reason reason_of(store::Fault::Kind kind) {
  switch (kind) {
    case store::Fault::Kind::unreachable: return Reason::unreachable;
    case store::Fault::Kind::silent: return Reason::silent;
    case store::Fault::Kind::unavailable: return Reason::unavailable;
    case store::Fault::Kind::denied: return Reason::denied;
    case store::Fault::Kind::unusable: return Reason::unusable;
    case store::Fault::Kind::misconfigured: break;
  }
  return Reason::misconfigured;
}

}  // namespace

Failure failure_of(const hold::NotAcquired& reason, const std::string& server) {
  return base::match(
      reason, [](const hold::GaveUp& each) { return gave_up(each); },
      [](const hold::Dismissed& each) {
        return Failure{Reason::dismissed,
                       fmt::format("stopped waiting for {}: {}", quoted(each.name), each.why),
                       each.name.text()};
      },
      [](const hold::Incompatible& each) {
        return Failure{Reason::incompatible,
                       fmt::format("{} is used in another mode by {}", quoted(each.name),
                                   each.conflict.token.shown()),
                       each.name.text()};
      },
      [](const hold::AlreadyDone& each) {
        return Failure{Reason::busy, fmt::format("{} is done for the slot", quoted(each.name)),
                       each.name.text()};
      },
      [](const hold::Interrupted&) {
        return Failure{Reason::stopped, "a stop was requested"};
      },
      [&](const store::Fault& fault) {
        using Kind = store::Fault::Kind;
        const bool connects = fault.kind != Kind::unreachable && fault.kind != Kind::silent;
        return Failure{
            reason_of(fault.kind),
            fmt::format("{}{}: {}", connects ? "" : "no answer from ", server, fault.why)};
      });
}

Failure mistaken(std::string text) {
  return {Reason::misconfigured, std::move(text)};
}

}  // namespace library

std::string_view rlock::v0::name_of(Reason reason) {
  switch (reason) {
    case Reason::busy: return "busy";
    case Reason::timed_out: return "timed-out";
    case Reason::crowded: return "crowded";
    case Reason::stopped: return "stopped";
    case Reason::dismissed: return "dismissed";
    case Reason::incompatible: return "incompatible";
    case Reason::unreachable: return "unreachable";
    case Reason::silent: return "silent";
    case Reason::unavailable: return "unavailable";
    case Reason::denied: return "denied";
    case Reason::unusable: return "unusable";
    case Reason::misconfigured: return "misconfigured";
    case Reason::exhausted: break;
  }
  return "exhausted";
}
