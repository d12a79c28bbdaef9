#include "hold/held.hpp"

#include <system_error>

#include "os/poll.hpp"

namespace hold {
namespace {

// A server that is restarting or failing over needs a moment; a tight loop would not help it.
constexpr base::Millis between_tries{50};

}  // namespace

Held::~Held() {
  if (!store_) return;
  try {
    (void)release({base::Deadline::after(base::now(), last_patience)});
  } catch (const std::system_error&) {
    // No descriptor or thread left, which is why we are here: the lease ends by itself.
  }
}

store::Renewal Held::renew(const os::Patience& patience) {
  auto renewal = store_->renew(lease_.name, lease_.token, lease_.ttl, patience);
  if (const auto* renewed = std::get_if<store::Renewed>(&renewal)) {
    lease_.valid_until = renewed->valid_until;
    lease_.asked_at = renewed->asked_at;
  }
  return renewal;
}

store::Release Held::release(const os::Patience& patience, base::Millis min_hold) {
  give_up();
  for (bool unheard = false;;) {
    auto release = spent_->release(lease_.name, lease_.token, min_hold, patience);
    if (std::holds_alternative<store::NotOurs>(release) && unheard) return store::Released{};
    const auto* fault = std::get_if<store::Fault>(&release);
    if (fault == nullptr || patience.until.passed(base::now())) return release;
    if (fault->kind == store::Fault::Kind::denied) return release;
    unheard = unheard || fault->kind == store::Fault::Kind::silent;
    os::wait_any({patience.interrupt},
                 std::min(patience.until, base::Deadline::after(base::now(), between_tries)));
  }
}

}  // namespace hold
