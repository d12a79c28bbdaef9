// The nodes of a quorum, and how long to wait for each of them.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <type_traits>
#include <utility>

#include "store/fan_out.hpp"
#include "store/quorum/math.hpp"
#include "store/quorum_node.hpp"

namespace store::quorum {

/// The nodes of a quorum. One thread at a time, except for a FanOut's work with the nodes.
class Nodes {
 public:
  explicit Nodes(std::vector<std::unique_ptr<QuorumNode>> nodes)
      : nodes_{std::move(nodes)}, all_(nodes_.size()), reliable_(nodes_.size()) {
    std::iota(all_.begin(), all_.end(), std::size_t{0});
  }

  [[nodiscard]] QuorumNode& operator[](std::size_t node) const { return *nodes_[node]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// Their indices.
  [[nodiscard]] const std::vector<std::size_t>& all() const { return all_; }

  /// Asks all nodes. Once it is decided whether a majority says `Yes`, late ones have the time of
  /// the last call, and at least `for_the_late`.
  template <class Yes, class Answer>
  Answers<Answer> ask(typename FanOut<Answer>::Ask question, Millis for_the_late,
                      const CallLimit& limit) {
    return ask<Answer>(
        std::move(question), [](const auto& all) { return decided<Yes>(all, late(all).size()); },
        for_the_late, limit);
  }
  /// The same, until `enough(answers)`.
  template <class Answer, class Enough>
  Answers<Answer> ask(typename FanOut<Answer>::Ask question, const Enough& enough,
                      Millis for_the_late, const CallLimit& limit);
  /// How long to wait for a node's answer to a request that `began` then: a claim, a waiter's bid
  /// that the others have granted, or a withdrawal.
  enum class Question { claim, granted_bid, other };
  [[nodiscard]] std::function<Deadline(std::size_t, std::optional<Moment> connected)> last_call(
      Question question, Moment began) const;
  /// Records which nodes answered a request that `began` then.
  template <class Answer>
  void remember(const Answers<Answer>& answers, Moment began);

  /// Whether two nodes are known to be different servers.
  using Pair = std::pair<std::size_t, std::size_t>;
  [[nodiscard]] bool differ(const Pair& pair) const { return distinct_.contains(pair); }
  void note_distinct(const Pair& pair) { distinct_.insert(pair); }

 private:
  std::vector<std::unique_ptr<QuorumNode>> nodes_;
  std::vector<std::size_t> all_;
  std::vector<bool> reliable_;  // answered the last request
  std::set<Pair> distinct_;
  Moment::duration unheard_for_{0};  // the longest time that a silent node had for a claim
};

template <class Answer>
void Nodes::remember(const Answers<Answer>& answers, Moment began) {
  for (const auto node : all_) {
    const bool fault = !answers[node] || std::holds_alternative<Fault>(*answers[node]);
    reliable_[node] = !fault;
    if (!answers[node] && std::is_same_v<Answer, Attempt>) {
      unheard_for_ = std::max(unheard_for_, base::now() - began);
    }
  }
}

inline std::function<Deadline(std::size_t, std::optional<Moment>)> Nodes::last_call(
    Question question, Moment began) const {
  const auto unheard_for = question == Question::other ? unheard_for_ : Moment::duration{0};
  const LastCall call = quorum::last_call(began, base::now(), unheard_for);
  // It may have been silent for long: waiters ask seldom, and each of them would pay for the wait.
  const bool asked_long_ago = question == Question::granted_bid;
  return [=, this](std::size_t node, std::optional<Moment> connected) {
    if (reliable_[node]) return asked_long_ago ? call.for_the_connected : call.for_the_reliable;
    if (!connected) return call.for_others;
    // Its answer takes as long as its connection took.
    return std::max(call.for_the_connected, Deadline::at(*connected + (*connected - began)));
  };
}

template <class Answer, class Enough>
Answers<Answer> Nodes::ask(typename FanOut<Answer>::Ask question, const Enough& enough,
                           Millis for_the_late, const CallLimit& limit) {
  const auto began = base::now();
  FanOut<Answer> fan_out{all_, size(), std::move(question), limit};
  fan_out.wait(enough);
  const auto at_least = Deadline::after(base::now(), for_the_late);
  fan_out.linger([&, until = last_call(Question::other, began)](std::size_t node,
                                                                std::optional<Moment> connected) {
    return std::max(until(node, connected), at_least);
  });
  auto all = fan_out.end();
  remember(all, began);
  return all;
}

}  // namespace store::quorum
