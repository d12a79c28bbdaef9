#include "store/gate/gated_store.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "os/poll.hpp"

namespace store::gate {
namespace {

// The gate only saves connections. If it is unavailable (no directory, a full disk, a stopped
// process that holds it), wait at the server directly.
constexpr Millis longest_at_gate{2'000};

class GatedStore final : public LockStore {
 public:
  GatedStore(std::unique_ptr<LockStore> gate, std::unique_ptr<LockStore> server)
      : gate_{std::move(gate)}, server_{std::move(server)} {}

  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    if (claim.on_busy == OnBusy::give_up) return server_->try_acquire(claim, limit);
    if (!passed_) {
      const auto now = base::now();
      const auto enough =
          Deadline::after(now, std::min(longest_at_gate, limit.until.left(now) / 2));
      auto attempt = gate_->try_acquire(to_pass(claim), limit.at_most(enough));
      if (auto* place = std::get_if<Queued>(&attempt)) return behind_others(std::move(*place));
      const auto* fault = std::get_if<Fault>(&attempt);
      const bool over = os::is_readable(limit.interrupt) || limit.until.passed(base::now());
      if (fault != nullptr && !over) {
        base::log::detail("without the local gate: {}", fault->why);
      } else if (!std::holds_alternative<Granted>(attempt)) {
        return attempt;
      }
      passed_ = true;
    }
    auto attempt = server_->try_acquire(claim, limit);
    const bool over =
        std::holds_alternative<Granted>(attempt) || std::holds_alternative<SlotDone>(attempt);
    if (over) open_gate(claim, limit);
    return attempt;
  }

  Turn await_turn(const Claim& claim, const CallLimit& limit) override {
    if (!passed_) return gate_->await_turn(to_pass(claim), limit);
    if (!questions_) questions_ = gate_->listener(claim.name, claim.token);
    if (!questions_) return server_->await_turn(claim, limit);
    const os::PollSet both{{limit.interrupt, questions_->descriptor()}};
    CallLimit until_asked = limit;
    until_asked.interrupt = both.descriptor();
    auto turn = server_->await_turn(claim, until_asked);
    (void)questions_->take();  // reading it is the answer
    return turn;
  }

  [[nodiscard]] bool may_ask_while_waiting() const override {
    return passed_ ? server_->may_ask_while_waiting() : gate_->may_ask_while_waiting();
  }

  void withdraw(const Claim& claim, const CallLimit& limit) override {
    // A waiter that never reached the server has no entry or connection there.
    if (passed_ || claim.on_busy == OnBusy::give_up) server_->withdraw(claim, limit);
    open_gate(claim, limit);
  }

  Renewal renew(const LockName& name, const Token& token, Ttl ttl,
                const CallLimit& limit) override {
    return server_->renew(name, token, ttl, limit);
  }
  Release release(const LockName& name, const Token& token, const Parting& parting,
                  const CallLimit& limit) override {
    return server_->release(name, token, parting, limit);
  }
  Standing check(const LockName& name, const Token& token, const CallLimit& limit) override {
    return server_->check(name, token, limit);
  }
  std::unique_ptr<Listener> listener(const LockName& name, const Token& token) override {
    return server_->listener(name, token);
  }
  void confirm_stopped(const LockName& name, const Notice& notice,
                       const CallLimit& limit) override {
    server_->confirm_stopped(name, notice, limit);
  }

 private:
  static Claim to_pass(const Claim& claim) {
    return {claim.name, claim.token, claim.ttl, OnBusy::queue};
  }

  /// The holder of the gate waits as we do, and does not hold the lock.
  static Queued behind_others(Queued place) {
    if (place.holder) place.holder->kind = Holder::Kind::neighbour;
    ++place.ahead;
    return place;
  }

  void open_gate(const Claim& claim, const CallLimit& limit) {
    gate_->withdraw(to_pass(claim), limit);
    questions_ = nullptr;
    passed_ = false;
  }

  std::unique_ptr<LockStore> gate_;
  std::unique_ptr<LockStore> server_;
  bool passed_ = false;
  std::unique_ptr<Listener> questions_;  // from those behind us: are we still waiting?
};

}  // namespace

std::unique_ptr<LockStore> open_store(std::unique_ptr<LockStore> gate,
                                      std::unique_ptr<LockStore> server) {
  return std::make_unique<GatedStore>(std::move(gate), std::move(server));
}

}  // namespace store::gate
