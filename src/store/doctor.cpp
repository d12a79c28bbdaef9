#include "store/doctor.hpp"

namespace store {
namespace {

// Long enough for the questions of an examination, short enough to expire soon if we die during it.
constexpr Millis trial_lease{10'000};

}  // namespace

CallLimit for_the_first_answer(const CallLimit& limit) {
  const auto now = base::now();
  return limit.at_most(Deadline::after(now, limit.until.left(now) / 4));
}

Claim trial_claim(const LockName& name) {
  return {name, Token::mint(*Label::from("doctor")), *Ttl::from(trial_lease), OnBusy::give_up};
}

Finding try_locking(LockStore& store, const LockName& name,
                    const std::function<std::string(const Fault&)>& advice,
                    const CallLimit& limit) {
  using Verdict = Finding::Verdict;
  const auto failed = [&](const Fault& fault) -> Finding {
    return {Verdict::fail, "locking", fault.why, advice(fault)};
  };
  const Claim claim = trial_claim(name);
  return base::match(
      store.try_acquire(claim, limit),
      [&](const Granted& granted) -> Finding {
        const auto renewal = store.renew(name, claim.token, granted.lease.ttl, limit);
        const auto release = store.release(name, claim.token, {}, limit);
        if (const auto* fault = std::get_if<Fault>(&renewal)) return failed(*fault);
        if (const auto* fault = std::get_if<Fault>(&release)) return failed(*fault);
        return {Verdict::ok, "locking", "taken, refreshed and released", ""};
      },
      failed,
      [](const auto&) -> Finding {
        return {Verdict::ok, "locking", "somebody holds it: not disturbed", ""};
      });
}

}  // namespace store
