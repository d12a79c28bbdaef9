#include "store/zookeeper/queue.hpp"

#include <algorithm>
#include <chrono>

namespace store::zookeeper {
namespace {

// A lock's node goes by itself when nothing is below it: it may be gone again when we come.
constexpr int most_tries = 4;

/// By the server's clock and ours: for people.
Millis age(const Node& node) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto now_ms = std::chrono::duration_cast<Millis>(now).count();
  return Millis{now_ms - std::clamp<std::int64_t>(node.stat.ctime, 0, now_ms)};
}

Holder holder_of(const Node& node) {
  return {Holder::Kind::holder, data_in(node.data).token.text(), age(node), std::nullopt};
}

Fault place_lost() {
  return {Fault::Kind::unavailable, "our place in the line was taken away"};
}

/// Makes the lock's node, and the way to it, which stays.
Result<base::Done> make_lock_node(Session& session, const std::string& lock,
                                  const CallLimit& limit) {
  for (auto slash = lock.find('/', 1);; slash = lock.find('/', slash + 1)) {
    const bool last = slash == std::string::npos;
    const auto made =
        session.create(lock.substr(0, slash), "", last ? ZOO_CONTAINER : ZOO_PERSISTENT, limit);
    if (!made) {
      // Another client may have made it; or we may not make it, and need not.
      const bool fine = made.error().kind == Error::Kind::node_exists ||
                        (!last && made.error().fault.kind == Fault::Kind::denied);
      if (!fine) return made.error().fault;
    }
    if (last) return base::Done{};
  }
}

/// The path of the claim's new node. After a silent fault it may have been made: look for the token
/// before trying again.
Result<std::string> make_node(Session& session, const std::string& lock, const Claim& claim,
                              const CallLimit& limit) {
  const bool shared = claim.mode.kind == Mode::Kind::shared;
  const std::string path = lock + "/" + prefix_of(claim.token, shared);
  for (int tries = 1;; ++tries) {
    auto made = session.create(path, claim.token.text(), ZOO_EPHEMERAL_SEQUENTIAL, limit);
    if (made) return *std::move(made);
    const bool no_lock_node = made.error().kind == Error::Kind::no_such_node;
    if (!no_lock_node || tries == most_tries) return std::move(made).error().fault;
    if (auto there = make_lock_node(session, lock, limit); !there) return std::move(there).error();
  }
}

/// One try of a claim.
class Entry {
 public:
  Entry(Session& session, const Claim& claim, Position& position, Moment asked_at,
        const CallLimit& limit)
      : session_{session}, claim_{claim}, position_{position}, asked_at_{asked_at}, limit_{limit} {}

  Attempt enter();

 private:
  /// Busy with the holders of the queue, and the waiters before place `at`.
  Busy busy(const LockQueue& queue, std::size_t at);
  Attempt look();
  Attempt hold();
  Attempt wait_behind(const LockQueue& queue, std::size_t at);

  Session& session_;
  const Claim& claim_;
  Position& position_;
  Moment asked_at_;
  const CallLimit& limit_;
};

Busy Entry::busy(const LockQueue& queue, std::size_t at) {
  return {first_holder(session_, position_.lock, queue, limit_), at - holders_in(queue)};
}

Attempt Entry::enter() {
  auto queue = read_queue(session_, position_.lock, limit_);
  if (!queue) return std::move(queue).error();
  const auto mine = place_of(*queue, claim_.token);
  position_.node = mine ? position_.lock + "/" + (*queue)[*mine].name : "";
  if (mine) {
    // All this may be old, if the server is cut off from the others: the session could have ended,
    // and another client could hold the lock. A node that is made now proves as much by itself.
    auto there = session_.confirm(position_.node, limit_);
    if (!there) return std::move(there).error();
    if (!*there) return place_lost();
  } else {
    // A claim that will not wait makes no node where it would have to: it would delay others.
    const QueueNode us{"", claim_.mode.kind == Mode::Kind::shared, 0};
    LockQueue with_us = *queue;
    with_us.push_back(us);
    const bool blocked = predecessor_of(with_us, queue->size()).has_value();
    if (blocked && claim_.on_busy == OnBusy::give_up) return busy(*queue, queue->size());
    auto made = make_node(session_, position_.lock, claim_, limit_);
    if (!made) return std::move(made).error();
    position_.node = *std::move(made);
  }
  return look();
}

Attempt Entry::look() {
  auto queue = read_queue(session_, position_.lock, limit_);
  if (!queue) return std::move(queue).error();
  const auto mine = place_of(*queue, claim_.token);
  if (!mine) return place_lost();
  if (!predecessor_of(*queue, *mine)) return hold();
  if (claim_.on_busy == OnBusy::queue) return wait_behind(*queue, *mine);
  auto erased = session_.erase(position_.node, limit_);
  if (!erased) return std::move(erased).error();
  position_.node.clear();
  return busy(*queue, *mine);
}

Attempt Entry::hold() {
  auto node = session_.get(position_.node, Session::Watch::no, limit_);
  if (!node) return std::move(node).error();
  if (!*node || !session_.is_ours((*node)->stat)) return place_lost();
  position_.predecessor.clear();
  const Ttl lease = lease_within(session_.timeout(), claim_.ttl);
  return Granted{{claim_.name, claim_.token, lease, validity(asked_at_, lease),
                  static_cast<Fence>((*node)->stat.czxid), asked_at_}};
}

Attempt Entry::wait_behind(const LockQueue& queue, std::size_t at) {
  position_.predecessor = position_.lock + "/" + queue[*predecessor_of(queue, at)].name;
  auto node = session_.get(position_.predecessor, Session::Watch::yes, limit_);
  if (!node) return std::move(node).error();
  auto [holder, ahead] = busy(queue, at);
  // Gone in between: there is nothing to wait for.
  if (!*node) position_.predecessor.clear();
  return Queued{std::move(holder), ahead, std::nullopt};
}

}  // namespace

Result<LockQueue> read_queue(Session& session, const std::string& lock, const CallLimit& limit) {
  auto children = session.children(lock, limit);
  if (!children) return std::move(children).error();
  auto queue = queue_of(*children);
  if (has_a_tie(queue)) {
    return Fault{Fault::Kind::unusable,
                 "two nodes of the queue have the same number: delete the lock's node"};
  }
  return queue;
}

std::optional<Holder> first_holder(Session& session, const std::string& lock,
                                   const LockQueue& queue, const CallLimit& limit) {
  if (queue.empty()) return std::nullopt;
  const auto node = session.get(lock + "/" + queue.front().name, Session::Watch::no, limit);
  if (!node || !*node) return std::nullopt;
  auto holder = holder_of(**node);
  holder.others = holders_in(queue) - 1;
  return holder;
}

Result<LockReport> report_on(Session& session, const std::string& lock, const LockName& name,
                             const CallLimit& limit) {
  LockReport report{name, std::nullopt, {}, std::nullopt, {}};
  auto queue = read_queue(session, lock, limit);
  if (!queue) return std::move(queue).error();
  const auto holders = holders_in(*queue);
  for (std::size_t i = 0; i < queue->size(); ++i) {
    const QueueNode& each = (*queue)[i];
    auto content = session.get(lock + "/" + each.name, Session::Watch::no, limit);
    if (!content) return std::move(content).error();
    if (!*content) continue;
    const Node& node = **content;
    const Mode mode{each.shared ? Mode::Kind::shared : Mode::Kind::exclusive};
    if (i < holders) {
      const auto fence = static_cast<Fence>(node.stat.czxid);
      report.mode = mode;
      report.fence = std::max(report.fence.value_or(0), fence);
      report.holders.push_back({holder_of(node), fence});
    } else {
      report.waiters.push_back({data_in(node.data).token, mode, age(node)});
    }
  }
  return report;
}

Attempt enter(Session& session, const Claim& claim, Position& position, Moment asked_at,
              const CallLimit& limit) {
  return Entry{session, claim, position, asked_at, limit}.enter();
}

}  // namespace store::zookeeper
