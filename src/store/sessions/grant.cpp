// The grant of a claim that is first: in the queue, in the memory and in the slot.
#include "base/log.hpp"
#include "store/rules/granted.hpp"
#include "store/sessions/claim_try.hpp"

namespace store::sessions {

Fault place_lost() {
  return {Fault::Kind::unavailable, "our place in the line was taken away"};
}

/// No node is before ours, and none can come before it.
Attempt ClaimTry::take() {
  contender_.predecessor = {};
  if (!contender_.own.made) {
    const auto node = get(session_, contender_.own.path, Watch::no, limit_);
    if (!node) return node.error();
    if (!*node || !(*node)->stat.is_ours) return place_lost();
    contender_.own.made = (*node)->stat;
  }
  if (is_new_ && !contender_.run.node.empty()) return granted();  // it has been written
  for (int tries = 0; tries < most_tries; ++tries) {
    if (auto outcome = write_grant()) return *std::move(outcome);
  }
  return restless();
}

std::optional<Attempt> ClaimTry::write_grant() {
  if (claim_.slot && contender_.slot_state().is_done()) return find_done();
  if (!remembers() && !claim_.slot) {
    if (is_new_) return granted();
    // A server that is cut off from the others may tell an old state: the session could have ended,
    // and another client could hold the lock.
    auto there = session_.keep(contender_.own.path, limit_);
    if (!there) return std::move(there).error();
    if (!*there) return place_lost();
    return granted();
  }
  const Grant grant = grant_to_write();
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
  if (*run && fence_of_run(**run) == contender_.own.made->created_by) return granted();
  forget_run();
  return std::nullopt;
}

ClaimTry::Grant ClaimTry::grant_to_write() {
  if (contender_.run.node.empty() && remembers()) {
    contender_.run.node = run_node_of(contender_.places.runs, contender_.change, claim_.token);
  }
  const std::string& token = claim_.token.text();
  const auto before = contender_.slot_state();
  Grant grant;
  grant.slot = {rules::with_run(before, token, rules::next_run(before, token)), claim_.history};
  grant.node = grant.steps.check(contender_.own.path);
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
  if (*rejected.at == grant.node) return missing ? Refusal::lost_node : Refusal::failed;
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
