// How a claim that nobody is before becomes a grant: in the queue, in the memory and in the slot.
#include "base/log.hpp"
#include "store/rules/granted.hpp"
#include "store/zookeeper/claim_try.hpp"

namespace store::zookeeper {

Fault place_lost() {
  return {Fault::Kind::unavailable, "our place in the line was taken away"};
}

/// Nobody is before us, and nobody can come before us any more.
Attempt ClaimTry::take() {
  contender_.predecessor = {};
  if (!contender_.own.made) {
    auto node = session_.get(contender_.own.path, Session::Watch::no, limit_);
    if (!node) return std::move(node).error();
    if (!*node || !session_.is_ours((*node)->stat)) return place_lost();
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
    // What we have read may be old, if the server is cut off from the others: the session could
    // have ended, and another client could hold the lock.
    auto there = session_.confirm(contender_.own.path, limit_);
    if (!there) return std::move(there).error();
    if (!*there) return place_lost();
    return granted();
  }
  const Grant grant = grant_to_write();
  contender_.grant_is_unheard = true;
  auto committed = session_.commit(grant.steps, limit_);
  if (committed) {
    contender_.grant_is_unheard = false;
    if (claim_.slot) {
      contender_.slot.record = grant.slot;
      ++contender_.slot.version;
    }
    return granted();
  }
  const Rejected& rejected = committed.error();
  const Refusal refusal = refusal_of(rejected, grant);
  contender_.grant_is_unheard = refusal == Refusal::unheard;
  switch (refusal) {
    case Refusal::unheard:
    case Refusal::failed: return rejected.error.fault;
    case Refusal::lost_node: return place_lost();
    case Refusal::full_memory: give_up_memory(rejected.error.fault); return std::nullopt;
    case Refusal::granted_before:
    case Refusal::missing_way:
    case Refusal::written_slot: break;
  }
  if (refusal != Refusal::granted_before) {
    if (auto there = session_.ready(limit_); !there) return std::move(there).error();
    if (refusal == Refusal::missing_way) send_way();
  }
  if (claim_.slot) {
    if (auto there = read_slot(session_, contender_, limit_); !there) {
      return std::move(there).error();
    }
  }
  if (refusal == Refusal::granted_before) return granted();
  return std::nullopt;
}

ClaimTry::Grant ClaimTry::grant_to_write() {
  if (contender_.run.node.empty() && remembers()) {
    contender_.run.node = run_node_of(contender_.lock, contender_.change, claim_.token);
  }
  const std::string& token = claim_.token.text();
  const auto before = contender_.slot_state();
  Grant grant;
  grant.slot = {rules::with_run(before, token, rules::next_run(before, token)), claim_.history};
  grant.node = grant.steps.check(contender_.own.path);
  if (remembers()) {
    const auto fence = static_cast<Fence>(contender_.own.made->czxid);
    const auto attempt = claim_.slot ? grant.slot.state.runs.attempt : 0;
    contender_.run.text = text_of_run(fence, claim_, attempt);
    grant.run = grant.steps.create(contender_.run.node, contender_.run.text, ZOO_PERSISTENT);
  }
  if (!claim_.slot) return grant;
  const auto& slot = contender_.slot;
  if (slot.version < 0) {
    grant.steps.create(slot.node, text_of_slot(grant.slot), ZOO_PERSISTENT);
  } else {
    grant.steps.set(slot.node, text_of_slot(grant.slot), slot.version);
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
  if (missing && !way_was_made_) return Refusal::missing_way;
  if (by_run) return Refusal::full_memory;
  if (missing || kind == Error::Kind::other) return Refusal::failed;
  return Refusal::written_slot;
}

Granted ClaimTry::granted() {
  const Ttl lease = lease_within(session_.timeout(), claim_.ttl);
  Lease given{claim_.name,
              claim_.token,
              lease,
              validity(asked_at_, lease),
              static_cast<Fence>(contender_.own.made->czxid),
              asked_at_};
  if (claim_.slot) {
    given.attempt = contender_.slot.record.state.runs.attempt;
    given.failures = contender_.slot.record.state.runs.failures;
  }
  return {std::move(given)};
}

Attempt ClaimTry::find_done() {
  if (!contender_.own.path.empty()) {
    auto erased = session_.erase(contender_.own.path, limit_);
    if (!erased) return std::move(erased).error();
    contender_.own.path.clear();
  }
  const rules::SlotState& state = contender_.slot.record.state;
  const Millis ago{std::max<std::int64_t>(contender_.server_ms() - contender_.slot.written_ms, 0)};
  return rules::answer_of(state, ago);
}

/// What was written of a run that did not begin. That it is gone need not be waited for.
void ClaimTry::forget_run() {
  if (contender_.run.node.empty()) return;
  (void)session_.send_erase(contender_.run.node);
  contender_.run.node.clear();
}

/// No room for it is no reason to refuse a lock.
void ClaimTry::give_up_memory(const Fault& fault) {
  base::log::detail("the run will not be remembered: {}", fault.why);
  contender_.run.is_refused = true;
  contender_.run.node.clear();
}

}  // namespace store::zookeeper
