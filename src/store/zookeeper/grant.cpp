// How a claim becomes a grant: in the queue, in the memory and in the slot, in as few round trips
// as there can be.
#include <algorithm>
#include <chrono>

#include "base/log.hpp"
#include "base/text.hpp"
#include "store/zookeeper/queue.hpp"

namespace store::zookeeper {
namespace {

using Watch = Session::Watch;

Fault place_lost() {
  return {Fault::Kind::unavailable, "our place in the line was taken away"};
}

/// What the slot is, as far as it is to be remembered.
rules::SlotState slot_at(const Position& position) {
  const bool forgotten = is_forgotten(position.slot_record, position.slot_ms, position.server_ms());
  return forgotten ? rules::SlotState{} : position.slot_record.state;
}

bool is_done(const Position& position) {
  return slot_at(position).is_done();
}

/// One try of a claim.
class Entry {
 public:
  Entry(Session& session, const Claim& claim, Position& position, Moment asked_at,
        const CallLimit& limit)
      : session_{session}, claim_{claim}, position_{position}, asked_at_{asked_at}, limit_{limit} {}

  Attempt enter();

 private:
  [[nodiscard]] bool remembers() const {
    return claim_.history > Millis{0} && !position_.cannot_remember;
  }
  [[nodiscard]] bool is_shared() const { return claim_.mode.kind == Mode::Kind::shared; }

  /// What is below the lock's node, and our slot.
  Result<LockQueue> look();
  void send_look();
  Result<LockQueue> answer_look();
  /// The nodes on the way to ours, of which the containers go again by themselves.
  void send_way();
  Result<base::Done> make_way();

  Attempt come(const LockQueue& queue);
  /// Makes our node, and the node of our run if the lock seems to be free. Nothing: once more.
  std::optional<Result<LockQueue>> make_node(bool seems_free);
  Attempt stand(const LockQueue& queue, std::size_t at);
  Attempt take();
  /// The grant that is written down. Nothing: once more.
  std::optional<Attempt> write_grant();
  Granted granted();
  Attempt wait_behind(const LockQueue& queue, std::size_t at);
  Attempt turn_away(const LockQueue& queue, std::size_t at);
  Attempt find_done();
  /// Busy with the holders of the queue, and the waiters before place `at`.
  Busy busy(const LockQueue& queue, std::size_t at);
  void forget_run();
  void give_up_memory(const Fault& fault);

  Session& session_;
  const Claim& claim_;
  Position& position_;
  Moment asked_at_;
  const CallLimit& limit_;
  bool is_new_ = false;  // our node was made by this try, which proves that the session lives
  bool way_is_there_ = true;
  bool way_was_made_ = false;  // by this try, as far as we may
  Asked<Children> children_{};
  Asked<Node> slot_{};
};

// ---- reading ----

void Entry::send_look() {
  children_ = session_.send_children(position_.lock);
  if (claim_.slot) slot_ = session_.send_get(position_.slot, Watch::no);
}

Result<LockQueue> Entry::answer_look() {
  auto children = session_.answer(children_, limit_);
  if (!children) return std::move(children).error();
  way_is_there_ = children->stat.czxid != 0;
  position_.change = children->stat.pzxid;
  if (claim_.slot) {
    auto node = session_.answer(slot_, limit_);
    if (!node) return std::move(node).error();
    position_.note_slot(*node);
  }
  return ordered(*children);
}

Result<LockQueue> Entry::look() {
  if (auto there = session_.ready(limit_); !there) return std::move(there).error();
  send_look();
  return answer_look();
}

// ---- the way to our node ----

void Entry::send_way() {
  way_was_made_ = true;
  (void)session_.send_create(position_.lock, "", ZOO_CONTAINER);
  if (remembers()) (void)session_.send_create(runs_of(position_.lock), "", ZOO_CONTAINER);
  if (claim_.slot) (void)session_.send_create(slots_of(position_.lock), "", ZOO_CONTAINER);
}

Result<base::Done> Entry::make_way() {
  const std::string& lock = position_.lock;
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

// ---- the claim ----

Attempt Entry::enter() {
  if (position_.slot_is_done) return find_done();
  if (std::exchange(position_.is_ours, false)) return take();
  auto queue = look();
  if (!queue) return std::move(queue).error();
  if (is_done(position_)) return find_done();
  const auto mine = position_of(*queue, claim_.token);
  if (!mine) return come(*queue);
  const std::string node = position_.lock + "/" + (*queue)[*mine].name;
  if (position_.node != node) position_.made.reset();
  position_.node = node;
  return stand(*queue, *mine);
}

Attempt Entry::come(const LockQueue& queue) {
  position_.node.clear();
  position_.made.reset();
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
    if (is_done(position_)) return find_done();  // by the servers' clock, which we now know
    return stand(**now, *mine);
  }
  return restless();
}

std::optional<Result<LockQueue>> Entry::make_node(bool seems_free) {
  if (auto there = session_.ready(limit_); !there) return std::move(there).error();
  forget_run();  // of an earlier try whose node has gone
  if (!way_is_there_) send_way();
  const std::string path = position_.lock + "/" + prefix_of(claim_.token, is_shared());
  // The grant is written with the claim, which saves a round trip and a transaction; if others came
  // before us after all, it is taken back. Not that of a slot, where others would see it.
  const bool early = seems_free && remembers() && !claim_.slot;
  Asked<Committed> both;
  Asked<Node> run;
  Asked<Made> alone;
  if (early) {
    position_.run = run_node_of(position_.lock, position_.change, claim_.token);
    position_.run_text = text_of_run(0, claim_, 0);
    Transaction claim;
    claim.create(path, claim_.token.text(), ZOO_EPHEMERAL_SEQUENTIAL);
    claim.create(position_.run, position_.run_text, ZOO_PERSISTENT);
    both = session_.send(claim);
    run = session_.send_get(position_.run, Watch::no);
  } else {
    alone = session_.send_create(path, claim_.token.text(), ZOO_EPHEMERAL_SEQUENTIAL);
  }
  send_look();
  if (remembers()) position_.runs = session_.send_children(runs_of(position_.lock));
  if (claim_.slot) position_.slots = session_.send_children(slots_of(position_.lock));

  std::optional<Error> failed;
  if (early) {
    auto committed = session_.answer(both, limit_);
    if (committed) {
      position_.node = committed->paths.front();
    } else {
      Rejected& rejected = committed.error();
      const bool missing = rejected.error.kind == Error::Kind::no_such_node;
      const bool by_memory = rejected.at == 1 && (!missing || way_was_made_);
      failed = std::move(rejected.error);
      if (failed->fault.kind != Fault::Kind::silent) position_.run.clear();
      if (by_memory) {
        give_up_memory(failed->fault);
        return std::nullopt;
      }
    }
  } else {
    auto made = session_.answer(alone, limit_);
    if (made) {
      position_.node = made->path;
      position_.made = made->stat;
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
    if (*node) position_.made = (*node)->stat;
  }
  return answer_look();
}

/// In the queue, at that place.
Attempt Entry::stand(const LockQueue& queue, std::size_t at) {
  if (!predecessor_of(queue, at)) return take();
  if (auto there = session_.ready(limit_); !there) return std::move(there).error();
  forget_run();
  return claim_.on_busy == OnBusy::queue ? wait_behind(queue, at) : turn_away(queue, at);
}

/// Nobody is before us, and nobody can come before us any more.
Attempt Entry::take() {
  position_.predecessor.clear();
  if (!position_.made) {
    auto node = session_.get(position_.node, Watch::no, limit_);
    if (!node) return std::move(node).error();
    if (!*node || !session_.is_ours((*node)->stat)) return place_lost();
    position_.made = (*node)->stat;
  }
  if (is_new_ && !position_.run.empty()) return granted();  // it has been written
  for (int tries = 0; tries < most_tries; ++tries) {
    if (auto outcome = write_grant()) return *std::move(outcome);
  }
  return restless();
}

std::optional<Attempt> Entry::write_grant() {
  if (claim_.slot && is_done(position_)) return find_done();
  if (!remembers() && !claim_.slot) {
    if (is_new_) return granted();
    // What we have read may be old, if the server is cut off from the others: the session could
    // have ended, and another client could hold the lock.
    auto there = session_.confirm(position_.node, limit_);
    if (!there) return std::move(there).error();
    if (!*there) return place_lost();
    return granted();
  }
  if (position_.run.empty() && remembers()) {
    position_.run = run_node_of(position_.lock, position_.change, claim_.token);
  }
  const std::string& token = claim_.token.text();
  const auto before = slot_at(position_);
  const SlotRecord next{rules::with_run(before, token, rules::next_run(before, token)),
                        claim_.history};
  const auto fence = static_cast<Fence>(position_.made->czxid);
  Transaction grant;
  const auto node = grant.check(position_.node);
  std::optional<std::size_t> run;
  if (remembers()) {
    position_.run_text = text_of_run(fence, claim_, claim_.slot ? next.state.runs.attempt : 0);
    run = grant.create(position_.run, position_.run_text, ZOO_PERSISTENT);
  }
  if (claim_.slot) {
    if (position_.slot_version < 0) {
      grant.create(position_.slot, text_of_slot(next), ZOO_PERSISTENT);
    } else {
      grant.set(position_.slot, text_of_slot(next), position_.slot_version);
    }
  }
  position_.grant_is_unheard = true;
  auto committed = session_.commit(grant, limit_);
  if (committed) {
    position_.grant_is_unheard = false;
    if (claim_.slot) {
      position_.slot_record = next;
      ++position_.slot_version;
    }
    return granted();
  }
  const Rejected& rejected = committed.error();
  const auto kind = rejected.error.kind;
  if (!rejected.at) return rejected.error.fault;
  position_.grant_is_unheard = false;
  if (*rejected.at == node) {
    if (kind == Error::Kind::no_such_node) return place_lost();
    return rejected.error.fault;
  }
  if (rejected.at == run && kind == Error::Kind::node_exists) {
    // It was granted before, and the answer was lost.
    if (!claim_.slot) return granted();
    if (auto there = read_slot(session_, position_, limit_); !there) {
      return std::move(there).error();
    }
    return granted();
  }
  const bool missing = kind == Error::Kind::no_such_node;
  if (rejected.at == run && (!missing || way_was_made_)) {
    give_up_memory(rejected.error.fault);
    return std::nullopt;
  }
  if (kind == Error::Kind::other || (missing && way_was_made_)) return rejected.error.fault;
  // Nodes on the way are missing, or whoever had the lock has written the slot since.
  if (auto there = session_.ready(limit_); !there) return std::move(there).error();
  if (missing) send_way();
  if (claim_.slot) {
    if (auto there = read_slot(session_, position_, limit_); !there) {
      return std::move(there).error();
    }
  }
  return std::nullopt;
}

Granted Entry::granted() {
  const Ttl lease = lease_within(session_.timeout(), claim_.ttl);
  Lease given{claim_.name,
              claim_.token,
              lease,
              validity(asked_at_, lease),
              static_cast<Fence>(position_.made->czxid),
              asked_at_};
  if (claim_.slot) {
    given.attempt = position_.slot_record.state.runs.attempt;
    given.failures = position_.slot_record.state.runs.failures;
  }
  return {std::move(given)};
}

Attempt Entry::wait_behind(const LockQueue& queue, std::size_t at) {
  const auto before = *predecessor_of(queue, at);
  position_.predecessor = position_.lock + "/" + queue[before].name;
  position_.is_next = before == 0;
  const auto watched = session_.send_get(position_.predecessor, Watch::yes);
  const std::string front = position_.lock + "/" + queue.front().name;
  const auto first = before == 0 ? watched : session_.send_get(front, Watch::no);
  auto node = session_.answer(watched, limit_);
  if (!node) return std::move(node).error();
  // Gone in between: there is nothing to wait for.
  if (!*node) position_.predecessor.clear();
  std::optional<Holder> holder;
  if (before == 0) {
    if (*node) holder = holder_of(**node, holders_in(queue));
  } else if (auto read = session_.answer(first, limit_); read && *read) {
    holder = holder_of(**read, holders_in(queue));
  }
  if (claim_.slot) {
    auto done = look_at_slot(session_, position_, limit_);
    if (!done) return std::move(done).error();
    if (*done) return find_done();
  }
  return Queued{std::move(holder), at - holders_in(queue), std::nullopt};
}

Busy Entry::busy(const LockQueue& queue, std::size_t at) {
  return {first_holder(session_, position_.lock, queue, limit_), at - holders_in(queue)};
}

Attempt Entry::turn_away(const LockQueue& queue, std::size_t at) {
  auto erased = session_.erase(position_.node, limit_);
  if (!erased) return std::move(erased).error();
  position_.node.clear();
  return busy(queue, at);
}

Attempt Entry::find_done() {
  if (!position_.node.empty()) {
    auto erased = session_.erase(position_.node, limit_);
    if (!erased) return std::move(erased).error();
    position_.node.clear();
  }
  const rules::SlotState& state = position_.slot_record.state;
  const Millis ago{std::max<std::int64_t>(position_.server_ms() - position_.slot_ms, 0)};
  return SlotDone{Token::foreign(state.token), state.fence, state.runs.attempt, state.outcome, ago};
}

/// What was written of a run that did not begin. That it is gone need not be waited for.
void Entry::forget_run() {
  if (position_.run.empty()) return;
  (void)session_.send_erase(position_.run);
  position_.run.clear();
}

/// No room for it is no reason to refuse a lock.
void Entry::give_up_memory(const Fault& fault) {
  base::log::detail("the run will not be remembered: {}", fault.why);
  position_.cannot_remember = true;
  position_.run.clear();
}

}  // namespace

std::int64_t Position::server_ms() const {
  if (made) return made->ctime;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<Millis>(now).count();
}

void Position::note_slot(const std::optional<Node>& seen) {
  slot_record = seen ? slot_in(seen->data) : SlotRecord{};
  slot_version = seen ? seen->stat.version : -1;
  slot_ms = seen ? seen->stat.mtime : 0;
}

Fault restless() {
  return {Fault::Kind::unavailable, "the lock's nodes change too fast"};
}

Result<base::Done> read_slot(Session& session, Position& position, const CallLimit& limit) {
  auto node = session.get(position.slot, Watch::no, limit);
  if (!node) return std::move(node).error();
  position.note_slot(*node);
  return base::Done{};
}

Attempt enter(Session& session, const Claim& claim, Position& position, Moment asked_at,
              const CallLimit& limit) {
  return Entry{session, claim, position, asked_at, limit}.enter();
}

Result<bool> look_at_slot(Session& session, Position& position, const CallLimit& limit) {
  for (int tries = 0; tries < most_tries; ++tries) {
    auto node = session.get(position.slot, Watch::yes, limit);
    if (!node) return std::move(node).error();
    position.note_slot(*node);
    position.slot_is_done = is_done(position);
    if (*node) return position.slot_is_done;
    // Only this question watches for a node that is not there.
    auto there = session.exists(position.slot, Watch::yes, limit);
    if (!there) return std::move(there).error();
    if (!*there) return false;
  }
  return restless();
}

}  // namespace store::zookeeper
