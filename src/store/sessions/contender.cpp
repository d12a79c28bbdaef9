#include "store/sessions/contender.hpp"

#include <chrono>

namespace store::sessions {

std::int64_t Contender::server_ms() const {
  if (own.made) return own.made->created_ms;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<Millis>(now).count();
}

rules::SlotState Contender::slot_state() const {
  const bool forgotten = is_forgotten(slot.record, slot.written_ms(), server_ms());
  return forgotten ? rules::SlotState{} : slot.record.state;
}

void Contender::note_own(const Node& seen) {
  const unsigned chosen = own.text.permit;
  own.text = text_in(seen.text);
  if (own.text.permit == 0) own.text.permit = chosen;
  own.made = seen.stat;
  if (own.text.stop) stop = own.text.stop;
}

void Contender::OwnSlot::note(const std::optional<Node>& seen) {
  record = seen ? slot_in(seen->text) : SlotRecord{};
  stat = seen ? std::optional{seen->stat} : std::nullopt;
}

Fault restless() {
  return {Fault::Kind::unavailable, "the lock's nodes change too fast"};
}

Fault place_lost() {
  return {Fault::Kind::unavailable, "our place in the line was taken away"};
}

Result<std::optional<Node>> get(Session& session, const std::string& path, Watch watch,
                                const CallLimit& limit) {
  Round round;
  round.get(path, watch);
  return std::move(session.ask(round, limit).nodes.front());
}

Result<base::Done> read_slot(Session& session, Contender& contender, const CallLimit& limit) {
  const auto node = get(session, contender.slot.node, Watch::no, limit);
  if (!node) return node.error();
  contender.slot.note(*node);
  return base::Done{};
}

Result<bool> look_at_own(Session& session, Contender& contender, const CallLimit& limit) {
  const auto node = get(session, contender.own.path, Watch::yes, limit);
  if (!node) return node.error();
  if (!*node || !(*node)->stat.is_ours) return false;
  contender.note_own(**node);
  return true;
}

Result<bool> hear_of_slot(Contender& contender, const Result<std::optional<Node>>& seen) {
  if (!seen) return seen.error();
  contender.slot.note(*seen);
  contender.slot.is_done = contender.slot_state().is_done();
  return contender.slot.is_done;
}

Result<bool> look_at_slot(Session& session, Contender& contender, const CallLimit& limit) {
  return hear_of_slot(contender, get(session, contender.slot.node, Watch::yes, limit));
}

}  // namespace store::sessions
