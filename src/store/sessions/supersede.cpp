// Newest wins: how a claim sends away those that came before it. A waiter's node is removed, which
// its text allows until it takes the lock; a holder is asked to stop by the text of its node, and
// so is a node in front whose text says that it waits: if the server has no room, it could not
// write that it took the lock.
#include <algorithm>
#include <limits>

#include "store/sessions/claim_try.hpp"

namespace store::sessions {
namespace {

// etcd takes transactions of up to 128 operations, unless it is told otherwise.
constexpr std::size_t most_at_once = 100;

}  // namespace

/// One transaction, and how many nodes it does not reach.
struct ClaimTry::Dismissal {
  Round round;
  std::size_t left = 0;
};

/// The time, by the server's clock, of our first request for a node. It may have been lost: a claim
/// that came after it is newer than ours.
std::int64_t ClaimTry::newest_older_ms() const {
  const auto& past = contender_.past;
  if (!past.came_first || past.came_last == *past.came_first || !contender_.own.made) {
    return std::numeric_limits<std::int64_t>::max();
  }
  const auto since = base::ceil<Millis>(past.came_last - *past.came_first);
  return contender_.own.made->created_ms - since.count();
}

/// Nothing: there is nobody to send away.
Result<std::optional<ClaimTry::Dismissal>> ClaimTry::dismissal_of(const LockQueue& queue) {
  auto& past = contender_.past;
  auto& older = past.older;
  const auto mine = position_of(queue, claim_.token).value_or(queue.size());
  const bool is_first_look = !past.has_seen_older;
  if (is_first_look) {
    older.clear();
    for (std::size_t i = 0; i < mine; ++i) older.push_back(queue[i].name);
    past.has_seen_older = true;
  }
  const auto holders = holders_in(queue);
  std::vector<std::size_t> places;
  Round look;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const bool is_older = std::find(older.begin(), older.end(), queue[i].name) != older.end();
    if (i == mine || !is_older) continue;
    places.push_back(i);
    look.get(path_of(queue[i]));
  }
  if (places.empty()) return std::optional<Dismissal>{};
  const auto note = look.get(contender_.places.superseded);
  const Answers seen = session_.ask(look, limit_);
  for (const auto& each : seen.nodes) {
    if (each) continue;
    if (is_first_look) past.has_seen_older = false;
    return each.error();
  }
  const auto newest = is_first_look ? newest_older_ms() : std::numeric_limits<std::int64_t>::max();
  Dismissal dismissal;
  auto& change = dismissal.round.change;
  std::vector<std::string> told;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& node = *seen.nodes[i];
    const QueueNode& each = queue[places[i]];
    if (!node) continue;
    if (node->stat.created_ms > newest) {
      std::erase(older, each.name);
      continue;
    }
    NodeText text = text_in(node->text);
    if (!text.token.parts()) continue;  // of another recipe, whose node means nothing to us
    const bool may_hold = places[i] < holders;
    const bool is_removed = text.waits && !may_hold;
    const bool is_spared = claim_.spare_holders && may_hold && !text.waits;
    if (is_spared || text.is_kept || (text.stop && !is_removed)) continue;
    if (change.steps.size() >= most_at_once) {
      ++dismissal.left;
      continue;
    }
    // Also one that is asked: it may be a waiter whose session ends before it hears of that.
    told.emplace_back(nonce_of(text.token));
    if (is_removed) {
      change.erase(path_of(each), node->stat.version);
    } else {
      text.stop = claim_.supersede;
      change.set(path_of(each), text_of(text), node->stat);
    }
  }
  if (change.steps.empty()) return std::optional<Dismissal>{};
  // While the front of the queue is there, those that wait behind it do not hold.
  if (change.steps.front().path != path_of(queue.front())) change.check(path_of(queue.front()));
  const auto& before = *seen.nodes[note];
  auto text = with_superseded(before ? before->text : "", told, claim_.supersede);
  const auto& path = contender_.places.superseded;
  if (before) {
    change.set(path, std::move(text), before->stat);
  } else {
    change.create(Transaction::Kind::lasting, path, std::move(text));
  }
  dismissal.round.queue(contender_.places.queue);
  return std::optional{std::move(dismissal)};
}

Result<LockQueue> ClaimTry::send_away(LockQueue queue) {
  for (int tries = 0; tries < most_tries;) {
    auto dismissal = dismissal_of(queue);
    if (!dismissal) return std::move(dismissal).error();
    if (!*dismissal) break;
    const Answers answers = session_.ask((*dismissal)->round, limit_);
    const bool silent = !answers.change && !answers.change.error().at;
    if (silent) return answers.change.error().error.fault;
    const auto& now = answers.queues.front();
    if (!now) return now.error();
    queue = queue_of(now->names);
    contender_.change = now->change;
    if (answers.change && (*dismissal)->left == 0) break;
    // One of them has gone, or has taken the lock, in between.
    if (!answers.change && ++tries == most_tries) return restless();
  }
  contender_.past.has_superseded = true;
  return queue;
}

}  // namespace store::sessions
