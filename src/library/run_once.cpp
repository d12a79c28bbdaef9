#include <variant>

#include "base/result.hpp"
#include "library/acquire.hpp"
#include "library/failure.hpp"

namespace rlock {
inline namespace v0 {

Once run_once(const Server& server, std::string_view key, std::string_view slot,
              const std::function<int(Lock&)>& work, const Options& options, unsigned retries) {
  const auto wanted = store::Slot::from(slot, retries);
  if (!wanted) {
    return {Once::Kind::failed, 0, library::mistaken("a slot of 1 to 128 bytes of printable text")};
  }
  auto attempted = library::attempt(server, {std::string{key}}, options, options.wait, wanted);
  return base::match(
      std::move(attempted),
      [](Failure&& failure) {
        return Once{Once::Kind::failed, 0, failure};
      },
      [](store::SlotDone&& done) {
        return Once{Once::Kind::done_before, done.outcome.number, std::nullopt};
      },
      [&](Lock&& lock) {
        const int code = work(lock);
        const auto released = lock.impl().release(
            {{store::RunOutcome::Kind::exited, code}},
            code == 0 ? store::Parting::SlotEnd::done : store::Parting::SlotEnd::failed);
        const bool lost = released == Released::lost_before;
        return Once{lost ? Once::Kind::lost : Once::Kind::ran, code, std::nullopt};
      });
}

}  // namespace v0
}  // namespace rlock
