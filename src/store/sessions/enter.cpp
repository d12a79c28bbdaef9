// How a claim comes into the queue of its lock, in as few round trips as there can be.
#include "store/sessions/claim_try.hpp"
#include "store/sessions/report.hpp"

namespace store::sessions {
namespace {

/// None where they cannot be read.
std::vector<std::string> names_in(const Result<Children>& children) {
  return children ? children->names : std::vector<std::string>{};
}

}  // namespace

void ClaimTry::add_look(Round& round) const {
  round.queue(contender_.places.queue);
  if (claim_.slot) round.get(contender_.slot.node);
}

Result<LockQueue> ClaimTry::note_look(const Answers& answers) {
  const auto& children = answers.queues.front();
  if (!children) return children.error();
  contender_.change = children->change;
  if (claim_.slot) {
    const auto& slot = answers.nodes.back();
    if (!slot) return slot.error();
    contender_.slot.note(*slot);
  }
  return queue_of(children->names);
}

Result<LockQueue> ClaimTry::look() {
  Round round;
  add_look(round);
  return note_look(session_.ask(round, limit_));
}

Attempt ClaimTry::enter() {
  if (contender_.slot.is_done) return find_done();
  if (contender_.predecessor.state == Contender::Predecessor::State::gone) return take();
  auto queue = look();
  if (!queue) return std::move(queue).error();
  if (contender_.slot_state().is_done()) return find_done();
  const auto mine = position_of(*queue, claim_.token);
  if (!mine) return come(*queue);
  const std::string node = path_of((*queue)[*mine]);
  if (contender_.own.path != node) contender_.own.made.reset();
  contender_.own.path = node;
  return stand(*queue, *mine);
}

Attempt ClaimTry::come(const LockQueue& queue) {
  contender_.own.path.clear();
  contender_.own.made.reset();
  // A claim that will not wait makes no node where it would have to: it would delay others.
  LockQueue with_us = queue;
  with_us.push_back({"", claim_.mode});
  const bool blocked = predecessor_of(with_us, queue.size()).has_value();
  if (blocked && claim_.on_busy == OnBusy::give_up) return busy(queue, queue.size());
  for (int tries = 0; tries < most_tries; ++tries) {
    auto now = make_node(!blocked);
    if (!now) continue;
    if (!*now) return std::move(*now).error();
    const auto mine = position_of(**now, claim_.token);
    if (!mine) return place_lost();
    // By the servers' clock, which we now know.
    if (contender_.slot_state().is_done()) return find_done();
    return stand(**now, *mine);
  }
  return restless();
}

std::optional<Result<LockQueue>> ClaimTry::make_node(bool seems_free) {
  forget_run();  // of an earlier try whose node has gone
  Round round;
  const Places& places = contender_.places;
  const auto own = round.change.create(Transaction::Kind::queue,
                                       places.queue + "/" + prefix_of(claim_.token, claim_.mode),
                                       claim_.token.text());
  // The grant is written with the claim, which saves a round trip and a transaction; if others came
  // before us after all, it is taken back. Not that of a slot, where others would see it.
  std::optional<std::size_t> run;
  if (seems_free && remembers() && !claim_.slot) {
    contender_.run.node = run_node_of(places.runs, contender_.change, claim_.token);
    contender_.run.text = text_of_run(0, claim_, 0);
    run = round.change.create(Transaction::Kind::lasting, contender_.run.node, contender_.run.text);
    round.get(contender_.run.node);
  }
  add_look(round);
  if (remembers()) round.children_of(places.runs);
  if (claim_.slot) round.children_of(places.slots);
  const Answers answers = session_.ask(round, limit_);
  if (!answers.change) {
    const auto& [error, at] = answers.change.error();
    const bool by_run = run && at == run;
    // Of a grant before our session ended. The next try removes it.
    if (by_run && error.kind == Error::Kind::node_exists) return std::nullopt;
    if (error.fault.kind != Fault::Kind::silent) contender_.run.node.clear();
    if (by_run) {
      give_up_memory(error.fault);
      return std::nullopt;
    }
    return Result<LockQueue>{error.fault};
  }
  is_new_ = true;
  const Made& made = answers.change->made[own];
  contender_.own.path = made.path;
  contender_.own.made = made.stat;
  if (run && !contender_.own.made) {
    // Both were made by one transaction.
    const auto& node = answers.nodes.front();
    if (!node) return Result<LockQueue>{node.error()};
    if (*node) {
      contender_.own.made = (*node)->stat;
      contender_.own.made->is_ours = true;
    }
  }
  std::size_t next = 0;
  if (remembers()) contender_.run.others = names_in(answers.children[next++]);
  if (claim_.slot) contender_.slot.others = names_in(answers.children[next]);
  return note_look(answers);
}

/// In the queue, at that position.
Attempt ClaimTry::stand(const LockQueue& queue, std::size_t at) {
  if (!predecessor_of(queue, at)) return take();
  forget_run();
  return claim_.on_busy == OnBusy::queue ? wait_behind(queue, at) : turn_away(queue, at);
}

Attempt ClaimTry::wait_behind(const LockQueue& queue, std::size_t at) {
  const auto before = *predecessor_of(queue, at);
  using State = Contender::Predecessor::State;
  contender_.predecessor = {before == 0 ? State::last : State::one_of_several,
                            path_of(queue[before])};
  Round round;
  const auto watched = round.get(contender_.predecessor.path, Watch::yes);
  const auto first = before == 0 ? watched : round.get(path_of(queue.front()));
  std::optional<std::size_t> slot;
  if (claim_.slot) slot = round.get(contender_.slot.node, Watch::yes);
  const auto answers = session_.ask(round, limit_);
  const auto& node = answers.nodes[watched];
  if (!node) return node.error();
  // Gone in between: there is nothing to wait for.
  if (!*node) contender_.predecessor = {};
  std::optional<Holder> holder;
  if (const auto& seen = answers.nodes[first]; seen && *seen) {
    holder = holder_of(**seen, holders_in(queue));
  }
  if (slot) {
    const auto done = hear_of_slot(contender_, answers.nodes[*slot]);
    if (!done) return done.error();
    if (*done) return find_done();
  }
  return Queued{std::move(holder), at - holders_in(queue), std::nullopt};
}

Busy ClaimTry::busy(const LockQueue& queue, std::size_t at) {
  return {first_holder(session_, contender_.places, queue, limit_), at - holders_in(queue)};
}

Attempt ClaimTry::turn_away(const LockQueue& queue, std::size_t at) {
  if (auto erased = erase_own_node(); !erased) return std::move(erased).error();
  return busy(queue, at);
}

Attempt enter(Session& session, const Claim& claim, Contender& contender, Moment asked_at,
              const CallLimit& limit) {
  return ClaimTry{session, claim, contender, asked_at, limit}.enter();
}

}  // namespace store::sessions
