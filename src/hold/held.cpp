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
    (void)release({base::Deadline::after(base::now(), longest_last_word)});
  } catch (const std::system_error&) {
    // No descriptor or thread left, which is why we are here: the lease ends by itself.
  }
}

store::Renewal Held::renew(const os::CallLimit& limit) {
  auto renewal = store_->renew(lease_.name, lease_.token, lease_.ttl, limit);
  if (const auto* renewed = std::get_if<store::Renewed>(&renewal)) {
    lease_.valid_until = renewed->valid_until;
    lease_.asked_at = renewed->asked_at;
  }
  return renewal;
}

store::Release Held::release(const os::CallLimit& limit, base::Millis min_hold) {
  give_up();
  for (bool unheard = false;;) {
    auto release = spent_->release(lease_.name, lease_.token, min_hold, limit);
    if (std::holds_alternative<store::NotOurs>(release) && unheard) return store::Released{};
    const auto* fault = std::get_if<store::Fault>(&release);
    if (fault == nullptr || limit.until.passed(base::now())) return release;
    if (fault->kind == store::Fault::Kind::denied) return release;
    unheard = unheard || fault->kind == store::Fault::Kind::silent;
    os::wait_any({limit.interrupt},
                 std::min(limit.until, base::Deadline::after(base::now(), between_tries)));
  }
}

}  // namespace hold
