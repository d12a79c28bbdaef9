#include "store/zookeeper/candidacy.hpp"

#include "store/zookeeper/enrolment.hpp"
#include "store/zookeeper/lease_rule.hpp"
#include "store/zookeeper/line.hpp"
#include "store/zookeeper/reading.hpp"

namespace store::zookeeper {
namespace {

Fault place_lost() {
  return {Fault::Kind::unavailable, "our place in the line was taken away"};
}

class Candidacy {
 public:
  Candidacy(Session& session, const Claim& claim, Stand& stand, const CallLimit& limit)
      : session_{session}, claim_{claim}, stand_{stand}, limit_{limit} {}

  Attempt apply(Moment asked_at);

 private:
  /// Of those in the line, and how many there are before place `at`.
  Busy busy(const Line& line, std::size_t at);
  Attempt look(Moment asked_at);
  Attempt hold(Moment asked_at);
  Attempt wait_behind(const Line& line, std::size_t at);

  Session& session_;
  const Claim& claim_;
  Stand& stand_;
  const CallLimit& limit_;
};

Busy Candidacy::busy(const Line& line, std::size_t at) {
  return {occupant_in(session_, stand_.place, line, limit_), at - holders_in(line)};
}

Attempt Candidacy::apply(Moment asked_at) {
  auto read = line_at(session_, stand_.place, limit_);
  if (auto* fault = std::get_if<Fault>(&read)) return std::move(*fault);
  const Line& line = std::get<Line>(read);
  const auto mine = place_of(line, claim_.token);
  stand_.node = mine ? stand_.place + "/" + line[*mine].name : "";
  if (mine) {
    // All this may be old, if the server is cut off from the others: the session could have ended,
    // and somebody else hold the lock. A node that is made now proves as much by itself.
    const auto there = session_.confirm(stand_.node, limit_);
    if (const auto* fault = std::get_if<Fault>(&there)) return *fault;
    if (!std::get<bool>(there)) return place_lost();
  } else {
    // Who only asks does not get into the others' way.
    const Contender last{"", claim_.mode.kind == Mode::Kind::shared, 0};
    Line with_us = line;
    with_us.push_back(last);
    const bool blocked = blocker_of(with_us, line.size()).has_value();
    if (blocked && claim_.on_busy == OnBusy::give_up) return busy(line, line.size());
    auto made = stand_in_line(session_, stand_.place, claim_, limit_);
    if (auto* fault = std::get_if<Fault>(&made)) return std::move(*fault);
    stand_.node = std::get<std::string>(std::move(made));
  }
  return look(asked_at);
}

Attempt Candidacy::look(Moment asked_at) {
  auto read = line_at(session_, stand_.place, limit_);
  if (auto* fault = std::get_if<Fault>(&read)) return std::move(*fault);
  const Line& line = std::get<Line>(read);
  const auto mine = place_of(line, claim_.token);
  if (!mine) return place_lost();
  if (!blocker_of(line, *mine)) return hold(asked_at);
  if (claim_.on_busy == OnBusy::queue) return wait_behind(line, *mine);
  const auto erased = session_.erase(stand_.node, limit_);
  if (const auto* fault = std::get_if<Fault>(&erased)) return *fault;
  stand_.node.clear();
  return busy(line, *mine);
}

Attempt Candidacy::hold(Moment asked_at) {
  auto content = session_.get(stand_.node, Session::Watch::no, limit_);
  if (auto* fault = std::get_if<Fault>(&content)) return std::move(*fault);
  const auto& node = std::get<std::optional<Node>>(content);
  if (!node || !session_.is_ours(node->stat)) return place_lost();
  stand_.blocker.clear();
  const Ttl lease = lease_within(session_.timeout(), claim_.ttl);
  return Granted{{claim_.name, claim_.token, lease, validity(asked_at, lease),
                  static_cast<Fence>(node->stat.czxid), asked_at}};
}

Attempt Candidacy::wait_behind(const Line& line, std::size_t at) {
  stand_.blocker = stand_.place + "/" + line[*blocker_of(line, at)].name;
  auto content = session_.get(stand_.blocker, Session::Watch::yes, limit_);
  if (auto* fault = std::get_if<Fault>(&content)) return std::move(*fault);
  auto [occupant, ahead] = busy(line, at);
  // Gone in between: there is nothing to wait for.
  if (!std::get<std::optional<Node>>(content)) stand_.blocker.clear();
  return Queued{std::move(occupant), ahead, std::nullopt};
}

}  // namespace

Attempt apply(Session& session, const Claim& claim, Stand& stand, Moment asked_at,
              const CallLimit& limit) {
  return Candidacy{session, claim, stand, limit}.apply(asked_at);
}

}  // namespace store::zookeeper
