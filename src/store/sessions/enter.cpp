// How a claim comes into the queue of its lock, in as few round trips as there can be.
#include "store/rules/modes.hpp"
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
  if (contender_.stop) return dismissed();
  if (contender_.predecessor.state == Contender::Predecessor::State::gone) return take();
  auto queue = look();
  if (!queue) return std::move(queue).error();
  if (contender_.slot_state().is_done()) return find_done();
  const auto mine = position_of(*queue, claim_.token);
  if (!mine) return come(*queue);
  const std::string node = path_of((*queue)[*mine]);
  if (contender_.own.path != node) contender_.own.made.reset();
  contender_.own.path = node;
  if (contender_.past.is_in_doubt) {
    const auto heard =
        hear_whether_superseded(get(session_, contender_.places.superseded, Watch::no, limit_));
    if (!heard) return heard.error();
    if (contender_.stop) return dismissed();
  }
  return stand(*std::move(queue), *mine);
}

Attempt ClaimTry::come(const LockQueue& queue) {
  contender_.own = {};
  auto others = conflict(queue, queue.size());
  if (!others) return std::move(others).error();
  if (*others) return **std::move(others);
  // A claim that will not wait makes no node where it would have to: it would delay others.
  LockQueue with_us = queue;
  with_us.push_back({"", mode_});
  const bool blocked = !watched_by(with_us, queue.size()).empty();
  const bool crowded = claim_.supersede.empty() && is_crowded(waiters_before(queue, queue.size()));
  if (blocked && (claim_.on_busy == OnBusy::give_up || crowded)) return busy(queue, queue.size());
  for (int tries = 0; tries < most_tries; ++tries) {
    auto now = make_node(!blocked);
    if (!now) continue;
    if (!*now) return std::move(*now).error();
    if (contender_.stop) return dismissed();
    const auto mine = position_of(**now, claim_.token);
    if (!mine) return place_lost();
    // By the servers' clock, which we now know.
    if (contender_.slot_state().is_done()) return find_done();
    others = conflict(**now, *mine);
    if (!others) return std::move(others).error();
    if (!*others) return stand(**std::move(now), *mine);
    forget_run();
    if (auto erased = erase_own_node(); !erased) return std::move(erased).error();
    return **std::move(others);
  }
  return restless();
}

Result<std::optional<ModeConflict>> ClaimTry::conflict(const LockQueue& queue, std::size_t at) {
  if (at == 0 || rules::go_together(queue.front().mode, mode_))
    return std::optional<ModeConflict>{};
  const auto node = get(session_, path_of(queue.front()), Watch::no, limit_);
  if (!node) return node.error();
  if (!*node) return std::optional<ModeConflict>{};  // gone in between
  const auto text = text_in((*node)->text);
  // Of another recipe: it knows no modes, and is waited for.
  if (!text.token.parts()) return std::optional<ModeConflict>{};
  return std::optional{ModeConflict{mode_of(queue.front(), text), text.token}};
}

std::optional<Result<LockQueue>> ClaimTry::make_node(bool seems_free) {
  forget_run();  // of an earlier try whose node has gone
  Round round;
  const Places& places = contender_.places;
  contender_.own.text = {claim_.token, claim_.mode.names};
  contender_.own.text.waits = !seems_free;
  contender_.own.text.is_step = claim_.outlives;
  const auto own = round.change.create(Transaction::Kind::queue,
                                       places.queue + "/" + prefix_of(claim_.token, mode_),
                                       text_of(contender_.own.text));
  // The grant is written with the claim, which saves a round trip and a transaction; if others came
  // before us after all, it is taken back. Not that of a slot, where others would see it, nor that
  // of a permit, which needs a number.
  std::optional<std::size_t> run;
  if (seems_free && remembers() && !claim_.slot && !is_for_permit()) {
    contender_.run.node = run_node_of(places.runs, contender_.change, claim_.token);
    contender_.run.text = text_of_run(0, claim_, 0);
    run = round.change.create(Transaction::Kind::lasting, contender_.run.node, contender_.run.text);
    round.get(contender_.run.node);
  }
  // A newer claim may have removed the node that we had.
  std::optional<std::size_t> superseded;
  auto& past = contender_.past;
  past.is_in_doubt = past.came_first.has_value();
  if (past.is_in_doubt) superseded = round.get(places.superseded);
  if (!past.came_first) past.came_first = asked_at_;
  past.came_last = asked_at_;
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
  if (run) contender_.run.made = answers.change->made[*run].stat;
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
  past.is_in_doubt = past.is_in_doubt || answers.is_repeated;
  if (past.is_in_doubt) {
    const auto heard =
        hear_whether_superseded(superseded ? answers.nodes[*superseded]
                                           : get(session_, places.superseded, Watch::no, limit_));
    if (!heard) return Result<LockQueue>{heard.error()};
  }
  return note_look(answers);
}

Result<base::Done> ClaimTry::hear_whether_superseded(const Result<std::optional<Node>>& seen) {
  if (!seen) return seen.error();
  if (*seen) contender_.stop = superseded_in((*seen)->text, nonce_of(claim_.token));
  contender_.past.is_in_doubt = false;
  return base::Done{};
}

/// In the queue, at that position.
Attempt ClaimTry::stand(LockQueue queue, std::size_t at) {
  if (at > 0 && !claim_.supersede.empty() && !contender_.past.has_superseded) {
    auto now = send_away(std::move(queue));
    if (!now) return std::move(now).error();
    const auto mine = position_of(*now, claim_.token);
    if (!mine) return place_lost();
    queue = *std::move(now);
    at = *mine;
  }
  const auto watched = watched_by(queue, at);
  if (watched.empty()) return is_for_permit() ? take_permit(queue, at) : take();
  forget_run();
  const bool turned_away =
      claim_.on_busy == OnBusy::give_up || is_crowded(waiters_before(queue, at));
  return turned_away ? turn_away(queue, at) : wait_behind(queue, at, watched);
}

Attempt ClaimTry::wait_behind(const LockQueue& queue, std::size_t at,
                              const std::vector<std::size_t>& watched) {
  contender_.past.is_admitted = true;
  using State = Contender::Predecessor::State;
  const bool is_last = watched.back() == 0 && !is_for_permit();
  contender_.predecessor = {is_last ? State::last : State::one_of_several, {}};
  Round round;
  for (const auto each : watched) {
    contender_.predecessor.paths.push_back(path_of(queue[each]));
    round.get(contender_.predecessor.paths.back(), Watch::yes);
  }
  const auto first = watched.front() == 0 ? 0 : round.get(path_of(queue.front()));
  const auto own = round.get(contender_.own.path, Watch::yes);
  std::optional<std::size_t> slot;
  if (claim_.slot) slot = round.get(contender_.slot.node, Watch::yes);
  const auto answers = session_.ask(round, limit_);
  const auto holders = holders_in(queue);
  bool has_changed = false;
  for (std::size_t i = 0; i < watched.size(); ++i) {
    const auto& node = answers.nodes[i];
    if (!node) return node.error();
    // A waiter before us has taken its permit, or one whose number we wait for has chosen it.
    const bool wants_number = at < holders || watched[i] >= holders;
    const bool has_number = is_for_permit() && *node && text_in((*node)->text).permit > 0;
    has_changed = has_changed || !*node || (wants_number && has_number);
  }
  if (const auto& node = answers.nodes[own]; node && *node) {
    contender_.note_own(**node);
  } else {
    has_changed = true;
  }
  // Gone in between: there is nothing to wait for.
  if (has_changed) contender_.predecessor = {};
  std::optional<Holder> holder;
  if (const auto& seen = answers.nodes[first]; seen && *seen) {
    holder = holder_of(**seen, holders_in(queue));
  }
  if (slot) {
    const auto done = hear_of_slot(contender_, answers.nodes[*slot]);
    if (!done) return done.error();
    if (*done) return find_done();
  }
  return Queued{std::move(holder), waiters_before(queue, at), std::nullopt};
}

Busy ClaimTry::busy(const LockQueue& queue, std::size_t at) {
  return {first_holder(session_, contender_.places, queue, limit_), waiters_before(queue, at)};
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
