#include <string>
#include <utility>
#include <variant>

#include "base/result.hpp"
#include "library/acquire.hpp"
#include "library/failure.hpp"
#include "library/lock.hpp"

namespace rlock {
inline namespace v0 {
namespace {

/// Releases the lock, with the end of the slot; why the slot is open then, or may be.
std::string end_of(Lock::Impl* lock, int code) {
  if (lock == nullptr || lock->released) return "the work released the lock";
  const auto end = code == 0 ? store::Parting::SlotEnd::done : store::Parting::SlotEnd::failed;
  const auto released = lock->release({{store::RunOutcome::Kind::exited, code}}, end);
  if (const auto loss = lock->kept->loss()) return loss->text;
  if (released == Released::lost_before) return "the lock was lost";
  return released == Released::unheard ? "the server did not hear of the end" : "";
}

}  // namespace

Once run_once(const Server& server, std::string_view key, std::string_view slot,
              const std::function<int(Lock&)>& work, const Options& options, unsigned retries) {
  if (!work) return {Once::Kind::failed, 0, library::mistaken("no work"), {}};
  const auto wanted = store::Slot::from(slot, retries);
  if (!wanted) {
    return {
        Once::Kind::failed, 0, library::mistaken("a slot of 1 to 128 bytes of printable text"), {}};
  }
  auto attempted = library::attempt(server, {std::string{key}}, options, options.wait, wanted);
  return base::match(
      std::move(attempted),
      [](Failure&& failure) {
        return Once{Once::Kind::failed, 0, failure, {}};
      },
      [](store::SlotDone&& done) {
        return Once{Once::Kind::done_before, done.outcome.number, std::nullopt, {}};
      },
      [&](Lock&& lock) {
        const int code = work(lock);
        auto why = end_of(lock.impl(), code);
        const auto kind = why.empty() ? Once::Kind::ran : Once::Kind::open;
        return Once{kind, code, std::nullopt, std::move(why)};
      });
}

}  // namespace v0
}  // namespace rlock
