// The nodes of a quorum, and how long to wait for which of them.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "store/quorum/round.hpp"
#include "store/quorum/tally.hpp"
#include "store/quorum_node.hpp"

namespace store::quorum {

/// One thread at a time, but for what a Round does with the nodes.
class Nodes {
 public:
  /// For nodes that are late when it is decided: one that answered last time is worth waiting for,
  /// so that it is not left behind with a lock that nobody holds. A node that has fallen silent
  /// costs it once.
  static constexpr Millis for_the_reliable{500};
  /// One that was never asked before, or was silent, may just be on a machine that has a lot to do.
  static constexpr Millis for_others{50};
  /// What is given back there too late stays until its TTL is over.
  static constexpr Millis for_a_last_word{500};

  explicit Nodes(std::vector<std::unique_ptr<QuorumNode>> nodes)
      : nodes_{std::move(nodes)}, all_(nodes_.size()), reliable_(nodes_.size()) {
    std::iota(all_.begin(), all_.end(), std::size_t{0});
  }

  [[nodiscard]] QuorumNode& operator[](std::size_t node) const { return *nodes_[node]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// Their numbers.
  [[nodiscard]] const std::vector<std::size_t>& all() const { return all_; }

  /// Asks all of them; when it is decided whether more than half say `Yes`, those who are late get
  /// a little time more, at least `for_the_late`.
  template <class Yes, class Answer>
  Answers<Answer> ask(typename Round<Answer>::Ask question, Millis for_the_late,
                      const CallLimit& limit);
  /// How long to wait for those who are `late` with what was asked when it `began`.
  [[nodiscard]] Deadline last_call(const std::vector<std::size_t>& late, Moment began) const;
  template <class Answer>
  void remember(const Answers<Answer>& answers);

 private:
  std::vector<std::unique_ptr<QuorumNode>> nodes_;
  std::vector<std::size_t> all_;
  std::vector<bool> reliable_;  // answered the last question
};

template <class Answer>
void Nodes::remember(const Answers<Answer>& answers) {
  for (const auto node : all_) {
    const bool fault = !answers[node] || std::holds_alternative<Fault>(*answers[node]);
    reliable_[node] = !fault;
  }
}

inline Deadline Nodes::last_call(const std::vector<std::size_t>& late, Moment began) const {
  const auto now = base::now();
  if (std::any_of(late.begin(), late.end(), [&](auto node) { return reliable_[node]; })) {
    return Deadline::after(now, for_the_reliable);
  }
  const Moment::duration took = now - began;
  return Deadline::at(now + std::max<Moment::duration>(took / 4, for_others));
}

template <class Yes, class Answer>
Answers<Answer> Nodes::ask(typename Round<Answer>::Ask question, Millis for_the_late,
                           const CallLimit& limit) {
  const auto began = base::now();
  Round<Answer> round{all_, size(), std::move(question), limit};
  const auto& answers =
      round.wait([](const auto& all) { return decided<Yes>(all, late(all).size()); });
  round.linger(
      std::max(last_call(late(answers), began), Deadline::after(base::now(), for_the_late)));
  auto all = round.end();
  remember(all);
  return all;
}

}  // namespace store::quorum
