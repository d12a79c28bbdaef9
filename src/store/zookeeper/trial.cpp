#include "store/zookeeper/trial.hpp"

#include <algorithm>

namespace store::zookeeper {
namespace {

// For a word from the far end of the world; in a short session less, so that several tries fit into
// what is left of a lease when a refresh was not answered.
constexpr Millis far_away{1'000};
constexpr Millis::rep tries_in_a_session = 20;
// Who waits for its turn has all the time, but is to hear of it: half of the longest limit that
// one answer is given.
constexpr Millis longest{2'500};

}  // namespace

Deadline Trial::ends(const CallLimit& limit, Millis session) {
  if (!ends_) {
    const auto now = base::now();
    // Another one is to have as much time; how many there are only the library knows.
    const Millis half = std::min(limit.until.left(now) / 2, longest);
    const Millis least = std::min(session / tries_in_a_session, far_away);
    ends_ = Deadline::after(now, std::max(half, least));
  }
  return *ends_;
}

}  // namespace store::zookeeper
