#include "store/quorum/queue_wait.hpp"

#include <algorithm>
#include <charconv>

#include "os/host.hpp"
#include "os/poll.hpp"

namespace store::quorum {
namespace {

// A release reaches the nodes one after the other, and so do its wakes.
constexpr Millis for_the_other_wakes{2};
// Keep a minority's grants for two rounds and this long: the release of the other nodes may be on
// its way. At random, so that two waiters with a node each do not release them together. A round
// that waited for a silent node does not measure that latency.
constexpr Millis longest_round{50};
constexpr std::int64_t shortest_keep = 10;
constexpr std::int64_t longest_keep = 40;
// Until the next bid; meanwhile the node's next waiter has it.
constexpr std::int64_t soonest_bid = 5;
constexpr std::int64_t latest_bid = 40;
// The pause between the bids of a waiter that is in too few queues to be woken, as between the
// polls of a foreign client's lock.
constexpr std::int64_t soonest_look = 200;
constexpr std::int64_t latest_look = 500;

Deadline in(std::int64_t least, std::int64_t most) {
  return Deadline::after(base::now(), Millis{os::random_between(least, most)});
}

}  // namespace

Claim QueueWait::in_queue(Claim claim) {
  if (!ticket_) ticket_ = {Bid::Ticket::From::client, base::wall_us()};
  claim.bid = Bid{ticket_};
  return claim;
}

void QueueWait::note(const Answers<Attempt>& answers, bool has_holder, Moment began) {
  has_holder_ = has_holder;
  queued_.clear();
  kept_.clear();
  cut_.clear();
  std::uint64_t given_ticket = 0;
  for (std::size_t node = 0; node < answers.size(); ++node) {
    if (given<Granted>(answers[node]) != nullptr) kept_.push_back(node);
    const auto* queued = given<Queued>(answers[node]);
    if (queued == nullptr) continue;
    queued_.push_back(node);
    given_ticket = std::max(given_ticket, queued->ticket);
  }
  const bool has_given = ticket_ && ticket_->from == Bid::Ticket::From::node;
  if (!has_given && given_ticket > 0) ticket_ = {Bid::Ticket::From::node, given_ticket};
  keep_until_ = bid_again_ = Deadline::never();
  const auto most = majority(answers.size());
  if (kept_.size() >= most) {  // granted, but the fence was not confirmed
    bid_again_ = in(soonest_bid, latest_bid);
  } else if (queued_.size() + kept_.size() < most) {
    bid_again_ = in(soonest_look, latest_look);
  }
  if (kept_.empty()) return;
  const auto round = std::min<Moment::duration>(base::now() - began, longest_round);
  keep_until_ = Deadline::at(in(shortest_keep, longest_keep).moment() + 2 * round);
}

std::vector<std::size_t> QueueWait::to_give_back() {
  if (!keep_until_.passed(base::now())) return {};
  keep_until_ = Deadline::never();
  // While another client has a majority, a bid is useless.
  if (!has_holder_) bid_again_ = in(soonest_bid, latest_bid);
  return std::exchange(kept_, {});
}

Turn QueueWait::sleep(Nodes& nodes, const Claim& claim, const CallLimit& limit) {
  const auto until = std::min({limit.until, keep_until_, bid_again_});
  Answers<Turn> turns(nodes.size());
  if (queued_.empty()) {
    os::wait_any({limit.interrupt}, until);
  } else {
    FanOut<Turn> fan_out{queued_, nodes.size(),
                         [&](std::size_t node, const CallLimit& share) {
                           return nodes[node].await_turn(claim, share);
                         },
                         limit.at_most(until)};
    const auto& first =
        fan_out.wait([&](const auto& all) { return late(all).size() < all.size(); });
    if (count<ClaimAgain>(first) > 0) {
      fan_out.linger(Deadline::after(base::now(), for_the_other_wakes));
    }
    turns = fan_out.end();
  }
  std::optional<Fault> denied;
  bool woken = false;
  for (const auto node : nodes.all()) {
    if (const auto* notice = given<Notice>(turns[node])) return wrapped(*notice, node);
    const auto* again = given<ClaimAgain>(turns[node]);
    woken = woken || (again != nullptr && again->cut.empty());
    if (again != nullptr && !again->cut.empty()) {
      cut_ = again->cut;
      std::erase(queued_, node);  // until the next bid
    }
    const auto* fault = given<Fault>(turns[node]);
    if (fault == nullptr) continue;
    denied = *fault;  // it refuses sleeping waiters
    std::erase(queued_, node);
  }
  if (woken) return ClaimAgain{};
  if (bid_again_.passed(base::now())) return ClaimAgain{std::exchange(cut_, {})};
  const bool too_few = queued_.size() + kept_.size() < majority(nodes.size());
  if (denied && too_few) return *denied;
  if (!cut_.empty() && too_few && bid_again_.is_never()) {
    bid_again_ = in(soonest_look, latest_look);
  }
  return StillWaiting{};
}

Notice wrapped(Notice notice, std::size_t node) {
  if (!notice.reply_to.empty()) {
    notice.reply_to = std::to_string(node) + " " + notice.reply_to;
  }
  return notice;
}

std::pair<std::size_t, Notice> unwrapped(const Notice& notice) {
  Notice original = notice;
  std::size_t node = ~std::size_t{0};
  const auto space = notice.reply_to.find(' ');
  if (space == std::string::npos) return {node, original};
  std::from_chars(notice.reply_to.data(), notice.reply_to.data() + space, node);
  original.reply_to = notice.reply_to.substr(space + 1);
  return {node, original};
}

}  // namespace store::quorum
