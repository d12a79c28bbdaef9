#include "store/zookeeper/enrolment.hpp"

#include "store/zookeeper/line.hpp"

namespace store::zookeeper {
namespace {

// A lock's node that nobody stands below goes by itself: it may be gone again when we come.
constexpr int most_tries = 4;

std::optional<Fault> make_place(Session& session, const std::string& place,
                                const CallLimit& limit) {
  // The way to it stays.
  for (auto slash = place.find('/', 1);; slash = place.find('/', slash + 1)) {
    const bool last = slash == std::string::npos;
    const auto made =
        session.create(place.substr(0, slash), "", last ? ZOO_CONTAINER : ZOO_PERSISTENT, limit);
    const auto* fault = std::get_if<Fault>(&made);
    // Somebody may have made it; or we may not make, and need not.
    const bool fine = fault == nullptr || fault->why == zerror(ZNODEEXISTS) ||
                      (!last && fault->kind == Fault::Kind::denied);
    if (!fine) return *fault;
    if (last) return std::nullopt;
  }
}

}  // namespace

std::variant<std::string, Fault> stand_in_line(Session& session, const std::string& place,
                                               const Claim& claim, const CallLimit& limit) {
  const bool shared = claim.mode.kind == Mode::Kind::shared;
  const std::string path = place + "/" + prefix_of(claim.token, shared);
  for (int tries = 1;; ++tries) {
    auto made = session.create(path, claim.token.text(), ZOO_EPHEMERAL_SEQUENTIAL, limit);
    const auto* fault = std::get_if<Fault>(&made);
    const bool no_place = fault != nullptr && fault->why == zerror(ZNONODE);
    if (!no_place || tries == most_tries) return made;
    if (auto trouble = make_place(session, place, limit)) return *std::move(trouble);
  }
}

}  // namespace store::zookeeper
