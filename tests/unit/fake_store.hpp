// A store whose answers a test sets, and which records what it was asked.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "os/fd.hpp"
#include "os/poll.hpp"
#include "store/lock_store.hpp"

namespace fake {

/// Shared by all stores of one test: the answers to come, in order, and the record. Where no answer
/// is left, the last word of each kind is the friendly one.
struct Script {
  std::deque<std::function<store::Attempt(const store::Claim&)>> attempts;
  std::deque<std::function<store::Turn(const os::CallLimit&)>> turns;
  std::deque<store::Renewal> renewals;
  /// Answers a refresh after those above, if set.
  std::function<store::Renewal(store::Ttl, const os::CallLimit&)> renewing{};
  std::deque<store::Release> releases;
  std::deque<store::Notice> notices;  // to the next that listens
  bool has_listener = true;
  std::function<void()> at_listener{};                     // what happens before a listener is made
  std::function<void(const std::string& call)> at_call{};  // what else happens at that moment
  bool records = true;                                     // not where several threads ask at once
  std::vector<std::string> calls;
  std::vector<std::string> tokens;   // of the claims
  std::vector<base::Deadline> dues;  // of the answers to them
  std::vector<base::Deadline> release_dues;
  os::Fd bell{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};

  /// Leaves a notice for the listener.
  void post(store::Notice notice) {
    notices.push_back(std::move(notice));
    (void)!::eventfd_write(bell.number(), 1);
  }
  [[nodiscard]] std::size_t count(const std::string& call) const {
    return static_cast<std::size_t>(std::count(calls.begin(), calls.end(), call));
  }
};

class Listener final : public store::Listener {
 public:
  Listener(Script& script, std::string name) : script_{script}, name_{std::move(name)} {}
  [[nodiscard]] int descriptor() const override { return listening_ ? script_.bell.number() : -1; }
  std::optional<store::Notice> take() override {
    if (!listening_ || script_.notices.empty()) return std::nullopt;
    auto notice = std::move(script_.notices.front());
    script_.notices.pop_front();
    eventfd_t ignored = 0;
    (void)!::eventfd_read(script_.bell.number(), &ignored);
    return notice;
  }
  [[nodiscard]] base::Deadline due() const override {
    return listening_ ? base::Deadline::never() : base::Deadline::at({});
  }
  void listen(const os::CallLimit& /*limit*/) override {
    listening_ = true;
    script_.calls.push_back("listen " + name_);
  }

 private:
  Script& script_;
  std::string name_;
  bool listening_ = false;
};

class Store final : public store::LockStore {
 public:
  explicit Store(Script& script) : script_{script} {}

  store::Attempt try_acquire(const store::Claim& claim, const os::CallLimit& limit) override {
    record("acquire", claim.name);
    script_.tokens.push_back(claim.token.text());
    script_.dues.push_back(limit.until);
    if (script_.attempts.empty()) return granted(claim);
    const auto answer = std::move(script_.attempts.front());
    script_.attempts.pop_front();
    return answer(claim);
  }
  store::Turn await_turn(const store::Claim& claim, const os::CallLimit& limit) override {
    record("await", claim.name);
    if (script_.turns.empty()) return store::ClaimAgain{};
    const auto answer = std::move(script_.turns.front());
    script_.turns.pop_front();
    return answer(limit);
  }
  void withdraw(const store::Claim& claim, const os::CallLimit& /*limit*/) override {
    record("withdraw", claim.name);
  }
  store::Renewal renew(const store::LockName& name, const store::Token& /*token*/, store::Ttl ttl,
                       const os::CallLimit& limit) override {
    record("renew", name);
    if (script_.renewals.empty() && script_.renewing) return script_.renewing(ttl, limit);
    if (script_.renewals.empty()) {
      return store::Renewed{store::validity(base::now(), ttl), base::now()};
    }
    auto answer = std::move(script_.renewals.front());
    script_.renewals.pop_front();
    return answer;
  }
  store::Release release(const store::LockName& name, const store::Token& /*token*/,
                         const store::Parting& parting, const os::CallLimit& limit) override {
    if (script_.records) script_.release_dues.push_back(limit.until);
    record(parting.min_hold.count() > 0 ? "keep" : "release", name);
    if (script_.releases.empty()) return store::Released{};
    auto answer = std::move(script_.releases.front());
    script_.releases.pop_front();
    return answer;
  }
  store::Standing check(const store::LockName& /*name*/, const store::Token& /*token*/,
                        const os::CallLimit& /*limit*/) override {
    return store::StillOurs{base::Deadline::never(), 1};
  }
  std::unique_ptr<store::Listener> listener(const store::LockName& name,
                                            const store::Token& /*token*/) override {
    if (script_.at_listener) script_.at_listener();
    if (!script_.has_listener) return nullptr;
    return std::make_unique<Listener>(script_, name.text());
  }
  void confirm_stopped(const store::LockName& name, const store::Notice& /*notice*/,
                       const os::CallLimit& /*limit*/) override {
    record("confirm", name);
  }

  static store::Attempt granted(const store::Claim& claim) {
    const auto now = base::now();
    return store::Granted{
        {claim.name, claim.token, claim.ttl, store::validity(now, claim.ttl), 7, now}};
  }

 private:
  void record(const std::string& call, const store::LockName& name) {
    if (!script_.records) return;
    script_.calls.push_back(call + " " + name.text());
    if (script_.at_call) script_.at_call(script_.calls.back());
  }

  Script& script_;
};

inline store::Claim claim(const std::string& name, base::Millis ttl = base::Millis{30'000},
                          store::OnBusy on_busy = store::OnBusy::queue) {
  return {*store::LockName::from(name), store::Token::foreign("us#" + name), *store::Ttl::from(ttl),
          on_busy};
}

}  // namespace fake
