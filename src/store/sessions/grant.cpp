// The grant of a claim that is first: in the queue, in the memory and in the slot.
#include "base/log.hpp"
#include "store/rules/granted.hpp"
#include "store/rules/modes.hpp"
#include "store/sessions/claim_try.hpp"

namespace store::sessions {
namespace {

// A claim that does not wait gives one that came just before it this time to choose the number of
// its permit.
constexpr Millis to_choose_a_number{2'000};

}  // namespace

Attempt ClaimTry::take_permit(const LockQueue& queue, std::size_t at) {
  Round round;
  for (std::size_t i = 0; i < at; ++i) round.get(path_of(queue[i]), Watch::yes);
  const auto own = round.get(contender_.own.path);
  const auto answers = session_.ask(round, limit_);
  const auto& ours = answers.nodes[own];
  if (!ours) return ours.error();
  if (!*ours || !(*ours)->stat.is_ours) return place_lost();
  contender_.note_own(**ours);
  if (contender_.stop) return dismissed();
  std::vector<unsigned> taken;
  for (std::size_t i = 0; i < at; ++i) {
    const auto& node = answers.nodes[i];
    if (!node) return node.error();
    if (!*node) continue;
    const unsigned permit = text_in((*node)->text).permit;
    // It comes before us, and is about to choose its number. Nobody behind it has one.
    if (permit == 0) return wait_for_number(queue, at, i);
    taken.push_back(permit);
  }
  auto& permit = contender_.own.text.permit;
  if (permit == 0) permit = rules::free_permit(std::move(taken), claim_.mode);
  return permit > 0 ? take() : Attempt{restless()};
}

Attempt ClaimTry::wait_for_number(const LockQueue& queue, std::size_t at, std::size_t other) {
  if (claim_.on_busy == OnBusy::queue) return wait_behind(queue, at, {other});
  const std::string path = path_of(queue[other]);
  const auto limit = limit_.at_most(Deadline::after(base::now(), to_choose_a_number));
  if (!session_.process(limit, [&] { return session_.changed(path); })) return turn_away(queue, at);
  auto now = look();
  if (!now) return std::move(now).error();
  const auto mine = position_of(*now, claim_.token);
  return mine ? stand(*std::move(now), *mine) : place_lost();
}

/// No node is before ours that may not be there, and none can come before it.
Attempt ClaimTry::take() {
  contender_.predecessor = {};
  if (!contender_.own.made) {
    const auto there = look_at_own(session_, contender_, limit_);
    if (!there) return there.error();
    if (!*there) return place_lost();
    if (contender_.stop) return dismissed();
  }
  if (is_new_ && !contender_.run.node.empty()) return granted();  // it has been written
  for (int tries = 0; tries < most_tries; ++tries) {
    if (auto outcome = write_grant()) return *std::move(outcome);
  }
  return restless();
}

std::optional<Attempt> ClaimTry::write_grant() {
  if (claim_.slot && contender_.slot_state().is_done()) return find_done();
  // A node that waited, or that has no number yet, has to be written. Others need not, if they are
  // new: a server that is cut off from the others may tell an old state, in which our session has
  // not ended.
  const bool is_written =
      has_no_room_ || (is_new_ && !contender_.own.text.waits && !is_for_permit());
  if (!remembers() && !claim_.slot && is_written && !has_no_room_) return granted();
  const Grant grant = grant_to_write(is_written);
  contender_.grant_is_unheard = true;
  Round round;
  round.change = grant.steps;
  if (claim_.slot) round.get(contender_.slot.node);
  const Answers answers = session_.ask(round, limit_);
  if (answers.change) {
    if (claim_.slot) {
      const auto& slot = answers.nodes.front();
      if (!slot) return slot.error();
      contender_.slot.note(*slot);
      contender_.slot.record = grant.slot;
    }
    contender_.grant_is_unheard = false;
    contender_.own.text = grant.text;
    if (grant.run) contender_.run.made = answers.change->made[*grant.run].stat;
    return granted();
  }
  const Rejected& rejected = answers.change.error();
  const Refusal refusal = refusal_of(rejected, grant);
  contender_.grant_is_unheard = refusal == Refusal::unheard;
  switch (refusal) {
    case Refusal::unheard:
    case Refusal::failed: return rejected.error.fault;
    case Refusal::lost_node: return place_lost();
    case Refusal::full_memory: give_up_memory(rejected.error.fault); return std::nullopt;
    // A lock is handed over nevertheless; our text goes on to say that we wait.
    case Refusal::full_server: has_no_room_ = true; return std::nullopt;
    case Refusal::written_node: {
      const auto there = look_at_own(session_, contender_, limit_);
      if (!there) return there.error();
      if (!*there) return place_lost();
      if (contender_.stop) return dismissed();
      break;
    }
    case Refusal::granted_before:
    case Refusal::written_slot: break;
  }
  if (claim_.slot) {
    const auto& slot = answers.nodes.front();
    if (!slot) return slot.error();
    contender_.slot.note(*slot);
  }
  if (refusal == Refusal::granted_before) return recall_grant();
  return std::nullopt;
}

/// The run has a node: of this grant, whose answer was lost, or of one before our session ended.
std::optional<Attempt> ClaimTry::recall_grant() {
  const auto run = get(session_, contender_.run.node, Watch::no, limit_);
  if (!run) return run.error();
  if (*run && fence_of_run(**run) == contender_.own.made->created_by) {
    contender_.run.made = (*run)->stat;
    return granted();
  }
  forget_run();
  return std::nullopt;
}

ClaimTry::Grant ClaimTry::grant_to_write(bool is_written) {
  if (contender_.run.node.empty() && remembers()) {
    contender_.run.node = run_node_of(contender_.places.runs, contender_.change, claim_.token);
  }
  const std::string& token = claim_.token.text();
  const auto before = contender_.slot_state();
  Grant grant{};
  grant.slot = {rules::with_run(before, token, rules::next_run(before, token)), claim_.history};
  grant.text = contender_.own.text;
  grant.text.waits = false;
  // With the version that we know: a newer claim may remove our node until then.
  const auto& own = contender_.own;
  grant.node = is_written
                   ? grant.steps.check(own.path, has_no_room_ ? own.made->version : any_version)
                   : grant.steps.set(own.path, text_of(grant.text), *own.made);
  if (remembers()) {
    const Fence fence = contender_.own.made->created_by;
    const auto attempt = claim_.slot ? grant.slot.state.runs.attempt : 0;
    contender_.run.text = text_of_run(fence, claim_, attempt);
    grant.run =
        grant.steps.create(Transaction::Kind::lasting, contender_.run.node, contender_.run.text);
  }
  if (!claim_.slot) return grant;
  const auto& slot = contender_.slot;
  if (slot.stat) {
    grant.steps.set(slot.node, text_of_slot(grant.slot), *slot.stat);
  } else {
    grant.steps.create(Transaction::Kind::lasting, slot.node, text_of_slot(grant.slot));
  }
  return grant;
}

ClaimTry::Refusal ClaimTry::refusal_of(const Rejected& rejected, const Grant& grant) const {
  if (!rejected.at) return Refusal::unheard;
  const auto kind = rejected.error.kind;
  const bool missing = kind == Error::Kind::no_such_node;
  if (*rejected.at == grant.node) {
    if (kind == Error::Kind::node_changed) return Refusal::written_node;
    const bool has_room = rejected.error.fault.kind != Fault::Kind::unavailable;
    if (kind == Error::Kind::other && !has_room && !has_no_room_ && !is_for_permit()) {
      return Refusal::full_server;
    }
    return missing ? Refusal::lost_node : Refusal::failed;
  }
  const bool by_run = rejected.at == grant.run;
  if (by_run && kind == Error::Kind::node_exists) return Refusal::granted_before;
  if (by_run) return Refusal::full_memory;
  if (kind == Error::Kind::other) return Refusal::failed;
  // A holder that returns a grant removes a slot that has had no other run.
  if (missing && !contender_.slot.stat) return Refusal::failed;
  return Refusal::written_slot;
}

Granted ClaimTry::granted() {
  const Ttl lease = session_.lease_within(claim_.ttl);
  const Moment from = session_.lease_counts_from(asked_at_);
  Lease given{
      claim_.name, claim_.token, lease, validity(from, lease), contender_.own.made->created_by,
      from};
  contender_.granted_at = base::now();
  given.permit = contender_.own.text.permit;
  given.resource = claim_.mode.name_of(given.permit);
  if (claim_.slot) {
    given.attempt = contender_.slot.record.state.runs.attempt;
    given.failures = contender_.slot.record.state.runs.failures;
  }
  return {std::move(given)};
}

Attempt ClaimTry::find_done() {
  if (!contender_.own.path.empty()) {
    if (auto erased = erase_own_node(); !erased) return std::move(erased).error();
  }
  const auto& slot = contender_.slot;
  const Millis ago{std::max<std::int64_t>(contender_.server_ms() - slot.written_ms(), 0)};
  return rules::answer_of(slot.record.state, ago);
}

Result<base::Done> ClaimTry::erase_own_node() {
  Round round;
  round.change.erase(contender_.own.path);
  const auto erased = unless_gone(session_.ask(round, limit_).change);
  if (!erased) return erased.error();
  contender_.own.path.clear();
  return base::Done{};
}

/// Removes the record of a run that did not begin, without waiting for the answer.
void ClaimTry::forget_run() {
  if (contender_.run.node.empty()) return;
  Round round;
  round.change.leftovers.emplace_back(contender_.run.node, any_version);
  (void)session_.ask(round, limit_);
  contender_.run.node.clear();
}

/// No room for it is no reason to refuse a lock.
void ClaimTry::give_up_memory(const Fault& fault) {
  base::log::detail("the run will not be remembered: {}", fault.why);
  contender_.run.is_refused = true;
  contender_.run.node.clear();
}

}  // namespace store::sessions
