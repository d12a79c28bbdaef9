// How a claim comes into the queue of its lock, in as few round trips as there can be.
#include "base/text.hpp"
#include "store/zookeeper/claim_try.hpp"
#include "store/zookeeper/queue.hpp"

namespace store::zookeeper {

void ClaimTry::send_look() {
  children_ = session_.send_children(contender_.lock);
  if (claim_.slot) slot_ = session_.send_get(contender_.slot.node, Session::Watch::no);
}

Result<LockQueue> ClaimTry::answer_look() {
  auto children = session_.answer(children_, limit_);
  if (!children) return std::move(children).error();
  way_is_there_ = children->stat.czxid != 0;
  contender_.change = children->stat.pzxid;
  if (claim_.slot) {
    auto node = session_.answer(slot_, limit_);
    if (!node) return std::move(node).error();
    contender_.slot.note(*node);
  }
  return ordered(*children);
}

Result<LockQueue> ClaimTry::look() {
  if (auto there = session_.ready(limit_); !there) return std::move(there).error();
  send_look();
  return answer_look();
}

void ClaimTry::send_way() {
  way_was_made_ = true;
  (void)session_.send_create(contender_.lock, "", ZOO_CONTAINER);
  if (remembers()) (void)session_.send_create(runs_of(contender_.lock), "", ZOO_CONTAINER);
  if (claim_.slot) (void)session_.send_create(slots_of(contender_.lock), "", ZOO_CONTAINER);
}

Result<base::Done> ClaimTry::make_way() {
  const std::string& lock = contender_.lock;
  for (auto slash = lock.find('/', 1); slash != std::string::npos;
       slash = lock.find('/', slash + 1)) {
    const auto made = session_.create(lock.substr(0, slash), "", ZOO_PERSISTENT, limit_);
    // Another client may have made it; or we may not make it, and need not.
    const bool fine = made || made.error().kind == Error::Kind::node_exists ||
                      made.error().fault.kind == Fault::Kind::denied;
    if (!fine) return made.error().fault;
  }
  const auto made = session_.create(lock, "", ZOO_CONTAINER, limit_);
  if (!made && made.error().kind != Error::Kind::node_exists) return made.error().fault;
  if (auto there = session_.ready(limit_); !there) return std::move(there).error();
  send_way();
  return base::Done{};
}

Attempt ClaimTry::enter() {
  if (contender_.slot.is_done) return find_done();
  if (contender_.predecessor.state == Contender::Predecessor::State::gone) return take();
  auto queue = look();
  if (!queue) return std::move(queue).error();
  if (contender_.slot_state().is_done()) return find_done();
  const auto mine = position_of(*queue, claim_.token);
  if (!mine) return come(*queue);
  const std::string node = contender_.lock + "/" + (*queue)[*mine].name;
  if (contender_.own.path != node) contender_.own.made.reset();
  contender_.own.path = node;
  return stand(*queue, *mine);
}

Attempt ClaimTry::come(const LockQueue& queue) {
  contender_.own.path.clear();
  contender_.own.made.reset();
  // A claim that will not wait makes no node where it would have to: it would delay others.
  LockQueue with_us = queue;
  with_us.push_back({"", is_shared(), 0});
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
  if (auto there = session_.ready(limit_); !there) return std::move(there).error();
  forget_run();  // of an earlier try whose node has gone
  if (!way_is_there_) send_way();
  const std::string path = contender_.lock + "/" + prefix_of(claim_.token, is_shared());
  // The grant is written with the claim, which saves a round trip and a transaction; if others came
  // before us after all, it is taken back. Not that of a slot, where others would see it.
  const bool early = seems_free && remembers() && !claim_.slot;
  Asked<Committed> both;
  Asked<Node> run;
  Asked<Made> alone;
  if (early) {
    contender_.run.node = run_node_of(contender_.lock, contender_.change, claim_.token);
    contender_.run.text = text_of_run(0, claim_, 0);
    Transaction claim;
    claim.create(path, claim_.token.text(), ZOO_EPHEMERAL_SEQUENTIAL);
    claim.create(contender_.run.node, contender_.run.text, ZOO_PERSISTENT);
    both = session_.send(claim);
    run = session_.send_get(contender_.run.node, Session::Watch::no);
  } else {
    alone = session_.send_create(path, claim_.token.text(), ZOO_EPHEMERAL_SEQUENTIAL);
  }
  send_look();
  if (remembers()) contender_.run.others = session_.send_children(runs_of(contender_.lock));
  if (claim_.slot) contender_.slot.others = session_.send_children(slots_of(contender_.lock));

  std::optional<Error> failed;
  if (early) {
    auto committed = session_.answer(both, limit_);
    if (committed) {
      contender_.own.path = committed->paths.front();
    } else {
      Rejected& rejected = committed.error();
      const bool missing = rejected.error.kind == Error::Kind::no_such_node;
      const bool by_memory = rejected.at == 1 && (!missing || way_was_made_);
      failed = std::move(rejected.error);
      if (failed->fault.kind != Fault::Kind::silent) contender_.run.node.clear();
      if (by_memory) {
        give_up_memory(failed->fault);
        return std::nullopt;
      }
    }
  } else {
    auto made = session_.answer(alone, limit_);
    if (made) {
      contender_.own.path = made->path;
      contender_.own.made = made->stat;
    } else {
      failed = std::move(made).error();
    }
  }
  if (failed) {
    if (failed->kind != Error::Kind::no_such_node) return std::move(failed->fault);
    if (auto there = make_way(); !there) return std::move(there).error();
    return std::nullopt;
  }
  is_new_ = true;
  if (early) {
    // Both were made by one transaction.
    auto node = session_.answer(run, limit_);
    if (!node) return std::move(node).error();
    if (*node) contender_.own.made = (*node)->stat;
  }
  return answer_look();
}

/// In the queue, at that position.
Attempt ClaimTry::stand(const LockQueue& queue, std::size_t at) {
  if (!predecessor_of(queue, at)) return take();
  if (auto there = session_.ready(limit_); !there) return std::move(there).error();
  forget_run();
  return claim_.on_busy == OnBusy::queue ? wait_behind(queue, at) : turn_away(queue, at);
}

Attempt ClaimTry::wait_behind(const LockQueue& queue, std::size_t at) {
  const auto before = *predecessor_of(queue, at);
  using State = Contender::Predecessor::State;
  contender_.predecessor = {before == 0 ? State::last : State::one_of_several,
                            contender_.lock + "/" + queue[before].name};
  const auto watched = session_.send_get(contender_.predecessor.path, Session::Watch::yes);
  const std::string front = contender_.lock + "/" + queue.front().name;
  const auto first = before == 0 ? watched : session_.send_get(front, Session::Watch::no);
  auto node = session_.answer(watched, limit_);
  if (!node) return std::move(node).error();
  // Gone in between: there is nothing to wait for.
  if (!*node) contender_.predecessor = {};
  std::optional<Holder> holder;
  if (before == 0) {
    if (*node) holder = holder_of(**node, holders_in(queue));
  } else if (auto read = session_.answer(first, limit_); read && *read) {
    holder = holder_of(**read, holders_in(queue));
  }
  if (claim_.slot) {
    auto done = look_at_slot(session_, contender_, limit_);
    if (!done) return std::move(done).error();
    if (*done) return find_done();
  }
  return Queued{std::move(holder), at - holders_in(queue), std::nullopt};
}

Busy ClaimTry::busy(const LockQueue& queue, std::size_t at) {
  return {first_holder(session_, contender_.lock, queue, limit_), at - holders_in(queue)};
}

Attempt ClaimTry::turn_away(const LockQueue& queue, std::size_t at) {
  auto erased = session_.erase(contender_.own.path, limit_);
  if (!erased) return std::move(erased).error();
  contender_.own.path.clear();
  return busy(queue, at);
}

Attempt enter(Session& session, const Claim& claim, Contender& contender, Moment asked_at,
              const CallLimit& limit) {
  return ClaimTry{session, claim, contender, asked_at, limit}.enter();
}

}  // namespace store::zookeeper
