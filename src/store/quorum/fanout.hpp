// One question to several nodes at once, and how long to wait for which of them.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

#include "os/mailbox.hpp"
#include "os/poll.hpp"
#include "store/lock_store.hpp"
#include "store/quorum/math.hpp"

namespace store::quorum {

/// Asks each node in a thread of its own. The destructor, end() and the end of the limit cut the
/// calls short that are still under way, so a silent minority costs no more than the caller is
/// ready to wait for it. No thread is left afterwards. One thread at a time.
template <class Answer>
class FanOut {
 public:
  using Ask = std::function<Answer(std::size_t node, const CallLimit&)>;

  FanOut(const std::vector<std::size_t>& nodes, std::size_t of, Ask ask, const CallLimit& limit)
      : limit_{limit}, ask_{std::move(ask)}, answers_(of), left_{nodes.size()} {
    threads_.reserve(nodes.size());
    try {
      auto still_to_ask = static_cast<std::ptrdiff_t>(nodes.size());
      for (const auto node : nodes) start(node, still_to_ask--);
    } catch (...) {
      stop();
      throw;
    }
  }
  FanOut(const FanOut&) = delete;
  FanOut& operator=(const FanOut&) = delete;
  ~FanOut() {
    try {
      stop();
    } catch (...) {
      std::terminate();  // an eventfd or a mutex that fails
    }
  }

  /// Waits until `enough(answers)`, until all nodes have answered, or until the limit.
  template <class Enough>
  const Answers<Answer>& wait(const Enough& enough) {
    while (left_ > 0 && !enough(answers_) && !ended()) listen(limit_.until);
    return checked();
  }
  /// Waits for all nodes until that moment, but not beyond the limit.
  const Answers<Answer>& linger(Deadline until) {
    while (left_ > 0 && !until.passed(base::now()) && !ended()) {
      listen(std::min(until, limit_.until));
    }
    return checked();
  }
  /// Cuts the calls that are still under way; their nodes have no answer.
  const Answers<Answer>& end() {
    stop();
    take();
    return checked();
  }

 private:
  struct Cut {};
  struct Heard {
    std::size_t node;
    std::optional<Answer> answer;
    std::exception_ptr trouble;  // in place of an answer: the machine is broken
  };

  void start(std::size_t node, std::ptrdiff_t still_to_ask) {
    try {
      threads_.emplace_back(&FanOut::ask_one, this, node, limit_.until);
    } catch (const std::system_error&) {
      // The machine has no thread to spare: the nodes are asked one after the other, with an even
      // share of the time each.
      const auto now = base::now();
      ask_one(node, Deadline::after(now, limit_.until.left(now) / still_to_ask));
    }
  }
  void ask_one(std::size_t node, Deadline until) {
    try {
      heard_.post({node, ask_(node, {until, cut_.descriptor()}), nullptr});
    } catch (...) {
      heard_.post({node, std::nullopt, std::current_exception()});
    }
  }
  void stop() {
    if (!threads_.empty()) cut_.post({});
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }
  const Answers<Answer>& checked() {
    if (trouble_) std::rethrow_exception(std::exchange(trouble_, nullptr));
    return answers_;
  }
  [[nodiscard]] bool ended() const { return interrupted_ || limit_.until.passed(base::now()); }
  void listen(Deadline until) {
    const auto ready = os::wait_for(heard_.descriptor(), os::Want::read, {until, limit_.interrupt});
    if (ready == os::Ready::interrupted) interrupted_ = true;
    take();
  }
  void take() {
    while (auto heard = heard_.take()) {
      answers_[heard->node] = std::move(heard->answer);
      if (heard->trouble) trouble_ = heard->trouble;
      --left_;
    }
  }

  CallLimit limit_;
  Ask ask_;
  os::Mailbox<Heard> heard_;
  os::Mailbox<Cut> cut_;
  Answers<Answer> answers_;
  std::size_t left_;
  bool interrupted_ = false;
  std::exception_ptr trouble_;
  std::vector<std::thread> threads_;
};

/// The nodes of a quorum. One thread at a time, apart from what a FanOut does with the nodes.
class Nodes {
 public:
  /// For a node that is late when the question is decided. One that answered last time is worth
  /// waiting for, so that no lock without a holder stays behind on it. A node that falls silent
  /// costs this time once.
  static constexpr Millis for_the_reliable{500};
  /// A node that was never asked before, or was silent, may just be on a busy machine.
  static constexpr Millis for_others{50};
  /// A node that hears too late of a release keeps the lock until its TTL is over.
  static constexpr Millis for_a_last_word{500};

  explicit Nodes(std::vector<std::unique_ptr<LockStore>> nodes)
      : nodes_{std::move(nodes)}, all_(nodes_.size()), reliable_(nodes_.size()) {
    std::iota(all_.begin(), all_.end(), std::size_t{0});
  }

  [[nodiscard]] LockStore& operator[](std::size_t node) const { return *nodes_[node]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// Their numbers.
  [[nodiscard]] const std::vector<std::size_t>& all() const { return all_; }

  /// Asks all nodes. When it is decided whether a majority says `Yes`, the late ones get a little
  /// more time, at least `for_the_late`.
  template <class Yes, class Answer>
  Answers<Answer> ask(typename FanOut<Answer>::Ask question, Millis for_the_late,
                      const CallLimit& limit);
  /// How long to wait for the `late` nodes with the answer to a question that `began` then.
  [[nodiscard]] Deadline last_call(const std::vector<std::size_t>& late, Moment began) const;
  template <class Answer>
  void remember(const Answers<Answer>& answers);

 private:
  std::vector<std::unique_ptr<LockStore>> nodes_;
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
Answers<Answer> Nodes::ask(typename FanOut<Answer>::Ask question, Millis for_the_late,
                           const CallLimit& limit) {
  const auto began = base::now();
  FanOut<Answer> fan_out{all_, size(), std::move(question), limit};
  const auto& answers =
      fan_out.wait([](const auto& all) { return decided<Yes>(all, late(all).size()); });
  fan_out.linger(
      std::max(last_call(late(answers), began), Deadline::after(base::now(), for_the_late)));
  auto all = fan_out.end();
  remember(all);
  return all;
}

}  // namespace store::quorum
