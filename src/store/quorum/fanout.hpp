// One question to several nodes at once, and how long to wait for which of them.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <system_error>
#include <thread>
#include <type_traits>
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
      : limit_{limit}, ask_{std::move(ask)}, answers_(of), awaited_{nodes} {
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
    while (!awaited_.empty() && !enough(answers_) && !ended()) listen(limit_.until);
    return checked();
  }
  /// Waits for each node until its moment, but not beyond the limit.
  const Answers<Answer>& linger(const std::function<Deadline(std::size_t node)>& until_of) {
    while (!awaited_.empty() && !ended()) {
      auto until = Deadline::at(Moment::min());
      for (const auto node : awaited_) until = std::max(until, until_of(node));
      if (until.passed(base::now())) break;
      listen(std::min(until, limit_.until));
    }
    return checked();
  }
  const Answers<Answer>& linger(Deadline until) {
    return linger([until](std::size_t) { return until; });
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
      std::erase(awaited_, heard->node);
    }
  }

  CallLimit limit_;
  Ask ask_;
  os::Mailbox<Heard> heard_;
  os::Mailbox<Cut> cut_;
  Answers<Answer> answers_;
  std::vector<std::size_t> awaited_;  // the nodes that were asked and are not heard yet
  bool interrupted_ = false;
  std::exception_ptr trouble_;
  std::vector<std::thread> threads_;
};

/// The nodes of a quorum. One thread at a time, apart from what a FanOut does with the nodes.
class Nodes {
 public:
  explicit Nodes(std::vector<std::unique_ptr<LockStore>> nodes)
      : nodes_{std::move(nodes)}, all_(nodes_.size()), reliable_(nodes_.size()) {
    std::iota(all_.begin(), all_.end(), std::size_t{0});
  }

  [[nodiscard]] LockStore& operator[](std::size_t node) const { return *nodes_[node]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// Their numbers.
  [[nodiscard]] const std::vector<std::size_t>& all() const { return all_; }

  /// Asks all nodes. When it is decided whether a majority says `Yes`, the late ones get the time
  /// of the last call, and at least `for_the_late`.
  template <class Yes, class Answer>
  Answers<Answer> ask(typename FanOut<Answer>::Ask question, Millis for_the_late,
                      const CallLimit& limit);
  /// Until when to wait for a node with the answer to a claim that `began` then, or to what takes
  /// a claim back.
  enum class Question { claim, other };
  [[nodiscard]] std::function<Deadline(std::size_t)> last_call(Question question,
                                                               Moment began) const;
  /// Notes which nodes answered a question that `began` then.
  template <class Answer>
  void remember(const Answers<Answer>& answers, Moment began);

  /// Whether two nodes were found to be different servers.
  using Pair = std::pair<std::size_t, std::size_t>;
  [[nodiscard]] bool differ(const Pair& pair) const { return distinct_.contains(pair); }
  void note_distinct(const Pair& pair) { distinct_.insert(pair); }

 private:
  std::vector<std::unique_ptr<LockStore>> nodes_;
  std::vector<std::size_t> all_;
  std::vector<bool> reliable_;  // answered the last question
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

inline std::function<Deadline(std::size_t)> Nodes::last_call(Question question,
                                                             Moment began) const {
  const auto unheard_for = question == Question::claim ? Moment::duration{0} : unheard_for_;
  const LastCall call = quorum::last_call(began, base::now(), unheard_for);
  return [this, call](std::size_t node) {
    return reliable_[node] ? call.for_the_reliable : call.for_others;
  };
}

template <class Yes, class Answer>
Answers<Answer> Nodes::ask(typename FanOut<Answer>::Ask question, Millis for_the_late,
                           const CallLimit& limit) {
  const auto began = base::now();
  FanOut<Answer> fan_out{all_, size(), std::move(question), limit};
  fan_out.wait([](const auto& all) { return decided<Yes>(all, late(all).size()); });
  const auto at_least = Deadline::after(base::now(), for_the_late);
  fan_out.linger([&, until = last_call(Question::other, began)](std::size_t node) {
    return std::max(until(node), at_least);
  });
  auto all = fan_out.end();
  remember(all, began);
  return all;
}

}  // namespace store::quorum
