// Acquiring on a store whose answers a test sets: what is wanted, and what becomes of it.
#pragma once

#include <doctest/doctest.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/log.hpp"
#include "fake_store.hpp"
#include "hold/acquire.hpp"

namespace fake {

using Calls = std::vector<std::string>;

struct Run {
  Script script;
  std::vector<store::Claim> claims{claim("a")};
  base::Millis wait{60'000};
  base::Millis grace{100};
  base::Millis longest_answer{5'000};
  std::vector<store::Token> outer{};

  static Run of_two() {
    Run run;
    run.claims.push_back(claim("b"));
    return run;
  }

  hold::Acquisition acquire() {
    base::log::set_level(base::log::Level::quiet);
    os::Signals signals;
    hold::InterruptionBySignals interruption{signals};
    auto result = hold::acquire([this] { return std::make_unique<Store>(script); },
                                {claims, wait, grace, longest_answer, outer}, interruption);
    ::sigprocmask(SIG_SETMASK, &signals.inherited_mask(), nullptr);
    base::log::set_level(base::log::Level::normal);
    return result;
  }
  hold::NotAcquired refused() {
    auto result = acquire();
    REQUIRE(std::holds_alternative<hold::NotAcquired>(result));
    return std::get<hold::NotAcquired>(std::move(result));
  }
  hold::HeldLocks held() {
    auto result = acquire();
    REQUIRE(std::holds_alternative<hold::HeldLocks>(result));
    return std::get<hold::HeldLocks>(std::move(result));
  }
  void answer(store::Attempt attempt) {
    script.attempts.emplace_back([attempt](const store::Claim&) { return attempt; });
  }
  void grant() { script.attempts.emplace_back(Store::granted); }
  /// As grant(), but with an answer that took that long.
  void grant_after(base::Millis late) {
    script.attempts.emplace_back([late](const store::Claim& claim) -> store::Attempt {
      const auto asked_at = base::now() - late;
      return store::Granted{
          {claim.name, claim.token, claim.ttl, store::validity(asked_at, claim.ttl), 6, asked_at}};
    });
  }
  void turn(store::Turn turn) {
    script.turns.emplace_back([turn](const os::CallLimit&) { return turn; });
  }
  void one_attempt() {
    wait = base::Millis{0};
    claims.front().on_busy = store::OnBusy::give_up;
  }
};

inline store::Holder holder(const std::string& token) {
  return {store::Holder::Kind::holder, token, std::nullopt, std::nullopt};
}
inline store::Fault silent() {
  return {store::Fault::Kind::silent, "no answer"};
}
inline store::Notice stop() {
  return {store::Notice::Kind::stop, "cancelled by ann", "reply"};
}
inline store::Notice lost() {
  return {store::Notice::Kind::lost, "force-released by ann", "reply"};
}

}  // namespace fake
