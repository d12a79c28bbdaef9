#include "store/trace/traced_store.hpp"

#include <chrono>
#include <utility>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/text.hpp"

namespace store::trace {
namespace {

std::string lasts(Deadline until) {
  if (until.is_never()) return "valid until it is released";
  return "valid for " + base::format_duration(until.left(base::now()));
}

std::string by(const std::optional<Holder>& holder) {
  if (!holder) return "nobody";
  return holder->token.empty() ? "a foreign client" : Token::foreign(holder->token).shown();
}

std::string shown(const Fault& fault) {
  return "failed: " + fault.why;
}

std::string shown(const NotOurs& not_ours) {
  return "not ours: " + not_ours.why;
}

std::string shown(const Attempt& attempt) {
  return base::match(
      attempt,
      [](const Granted& granted) {
        return fmt::format("granted with fence {}, {}{}", granted.lease.fence,
                           lasts(granted.lease.valid_until),
                           granted.flaw.empty() ? "" : "; to be withdrawn: " + granted.flaw);
      },
      [](const Queued& place) {
        return fmt::format("queued behind {} waiters, held by {}", place.ahead, by(place.holder));
      },
      [](const Busy& busy) { return fmt::format("busy, held by {}", by(busy.holder)); },
      [](const ModeConflict& conflict) {
        return "used in another mode by " + conflict.token.shown();
      },
      [](const SlotDone& done) { return "the slot was done by " + done.by.shown(); },
      [](const TokenExhausted& spent) { return "the token is spent: " + spent.why; },
      [](const Fault& fault) { return shown(fault); });
}

std::string shown(const Renewal& renewal) {
  return base::match(
      renewal, [](const Renewed& renewed) { return lasts(renewed.valid_until); },
      [](const NotOurs& not_ours) { return shown(not_ours); },
      [](const Fault& fault) { return shown(fault); });
}

std::string shown(const Release& release) {
  return base::match(
      release, [](const Released&) { return std::string{"done"}; },
      [](const NotOurs& not_ours) { return shown(not_ours); },
      [](const Fault& fault) { return shown(fault); });
}

std::string shown(const Standing& standing) {
  return base::match(
      standing, [](const StillOurs& ours) { return "ours, " + lasts(ours.until); },
      [](const Elsewhere& elsewhere) { return "not ours; held by " + by(elsewhere.holder); },
      [](const Fault& fault) { return shown(fault); });
}

std::string shown(const Notice& notice) {
  const bool lost = notice.kind == Notice::Kind::lost;
  return fmt::format("told '{}': {}", lost ? "lost" : "stop", notice.why);
}

/// Empty if nothing has happened.
std::string shown(const Turn& turn) {
  return base::match(
      turn,
      [](const ClaimAgain& again) {
        return again.cut.empty() ? std::string{"time to ask again"} : "cut short: " + again.cut;
      },
      [](const StillWaiting&) { return std::string{}; },
      [](const Notice& notice) { return shown(notice); },
      [](const Fault& fault) { return shown(fault); });
}

/// The trace lines about one lock.
class Trace {
 public:
  Trace(std::string server, LockName name) : server_{std::move(server)}, name_{std::move(name)} {}

  /// Asks, logs, and passes on the answer.
  template <class Question>
  auto ask(std::string_view what, const Question& question) const {
    const auto asked_at = base::now();
    auto answer = question();
    tell(what, shown(answer), asked_at);
    return answer;
  }
  void tell(std::string_view what, const std::string& answer, base::Moment asked_at) const {
    if (answer.empty()) return;
    const auto took =
        std::chrono::duration_cast<std::chrono::microseconds>(base::now() - asked_at).count();
    base::log::Event{"answer"}
        .with("key", name_.text())
        .with("question", what)
        .with("took_us", took)
        .trace("{}{} '{}': {} ({:.1f}ms)", server_, what, base::printable(name_.text()), answer,
               static_cast<double>(took) / 1'000);
  }

 private:
  std::string server_;
  LockName name_;
};

class TracedListener final : public Listener {
 public:
  TracedListener(std::unique_ptr<Listener> inner, Trace trace)
      : inner_{std::move(inner)}, trace_{std::move(trace)} {}

  [[nodiscard]] int descriptor() const override { return inner_->descriptor(); }
  std::optional<Notice> take() override {
    const auto asked_at = base::now();
    auto notice = inner_->take();
    if (notice) trace_.tell("listen", shown(*notice), asked_at);
    return notice;
  }
  [[nodiscard]] Deadline due() const override { return inner_->due(); }
  void listen(const CallLimit& limit) override {
    const auto asked_at = base::now();
    inner_->listen(limit);
    trace_.tell("listen", inner_->descriptor() < 0 ? "not connected" : "connected", asked_at);
  }

 private:
  std::unique_ptr<Listener> inner_;
  Trace trace_;
};

template <class Store>
class Traced : public Store {
 public:
  Traced(std::unique_ptr<Store> inner, std::string server)
      : inner_{std::move(inner)}, server_{std::move(server)} {}

  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    return of(claim.name).ask("acquire", [&] { return inner_->try_acquire(claim, limit); });
  }
  Turn await_turn(const Claim& claim, const CallLimit& limit) override {
    return of(claim.name).ask("wait", [&] { return inner_->await_turn(claim, limit); });
  }
  [[nodiscard]] bool may_ask_while_waiting() const override {
    return inner_->may_ask_while_waiting();
  }
  void withdraw(const Claim& claim, const CallLimit& limit) override {
    const auto asked_at = base::now();
    inner_->withdraw(claim, limit);
    of(claim.name).tell("withdraw", "asked", asked_at);
  }
  Renewal renew(const LockName& name, const Token& token, Ttl ttl,
                const CallLimit& limit) override {
    return of(name).ask("refresh", [&] { return inner_->renew(name, token, ttl, limit); });
  }
  Release release(const LockName& name, const Token& token, const Parting& parting,
                  const CallLimit& limit) override {
    return of(name).ask("release", [&] { return inner_->release(name, token, parting, limit); });
  }
  Standing check(const LockName& name, const Token& token, const CallLimit& limit) override {
    return of(name).ask("check", [&] { return inner_->check(name, token, limit); });
  }
  std::unique_ptr<Listener> listener(const LockName& name, const Token& token) override {
    auto inner = inner_->listener(name, token);
    if (!inner) return nullptr;
    return std::make_unique<TracedListener>(std::move(inner), of(name));
  }
  void confirm_stopped(const LockName& name, const Notice& notice,
                       const CallLimit& limit) override {
    const auto asked_at = base::now();
    inner_->confirm_stopped(name, notice, limit);
    of(name).tell("confirm the stop of", "sent", asked_at);
  }

 protected:
  [[nodiscard]] Trace of(const LockName& name) const { return {server_, name}; }

  std::unique_ptr<Store> inner_;

 private:
  std::string server_;
};

class TracedNode final : public Traced<QuorumNode> {
 public:
  using Traced::Traced;

  Renewal raise_fence(const Claim& claim, const Lease& lease, const CallLimit& limit) override {
    return of(lease.name).ask("raise fence", [&] {
      return inner_->raise_fence(claim, lease, limit);
    });
  }
};

}  // namespace

std::unique_ptr<LockStore> open_store(std::unique_ptr<LockStore> store) {
  return std::make_unique<Traced<LockStore>>(std::move(store), "");
}

std::unique_ptr<QuorumNode> open_node(std::unique_ptr<QuorumNode> node, std::string server) {
  return std::make_unique<TracedNode>(std::move(node), std::move(server));
}

}  // namespace store::trace
