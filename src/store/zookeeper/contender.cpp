#include "store/zookeeper/contender.hpp"

#include <chrono>

namespace store::zookeeper {

std::int64_t Contender::server_ms() const {
  if (own.made) return own.made->ctime;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<Millis>(now).count();
}

rules::SlotState Contender::slot_state() const {
  const bool forgotten = is_forgotten(slot.record, slot.written_ms, server_ms());
  return forgotten ? rules::SlotState{} : slot.record.state;
}

void Contender::OwnSlot::note(const std::optional<Node>& seen) {
  record = seen ? slot_in(seen->data) : SlotRecord{};
  version = seen ? seen->stat.version : -1;
  written_ms = seen ? seen->stat.mtime : 0;
}

Fault restless() {
  return {Fault::Kind::unavailable, "the lock's nodes change too fast"};
}

Result<base::Done> read_slot(Session& session, Contender& contender, const CallLimit& limit) {
  auto node = session.get(contender.slot.node, Session::Watch::no, limit);
  if (!node) return std::move(node).error();
  contender.slot.note(*node);
  return base::Done{};
}

Result<bool> look_at_slot(Session& session, Contender& contender, const CallLimit& limit) {
  for (int tries = 0; tries < most_tries; ++tries) {
    auto node = session.get(contender.slot.node, Session::Watch::yes, limit);
    if (!node) return std::move(node).error();
    contender.slot.note(*node);
    contender.slot.is_done = contender.slot_state().is_done();
    if (*node) return contender.slot.is_done;
    // Only this question watches for a node that is not there.
    auto there = session.exists(contender.slot.node, Session::Watch::yes, limit);
    if (!there) return std::move(there).error();
    if (!*there) return false;
  }
  return restless();
}

}  // namespace store::zookeeper
