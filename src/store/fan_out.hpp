// One request to several servers at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "os/error.hpp"
#include "os/mailbox.hpp"
#include "os/poll.hpp"
#include "os/thread.hpp"
#include "store/lock_store.hpp"

namespace store {

/// One for each node; nothing if the node has not answered or was not asked.
template <class Answer>
using Answers = std::vector<std::optional<Answer>>;

/// Once per process.
inline void say_no_thread(const os::Error& error) {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  base::log::notice("{}: the servers of the quorum are asked one after the other", error.text());
}

/// Asks each node in a thread of its own. The destructor, end() and the limit's end cut unfinished
/// calls short, so a silent minority costs no more time than the caller allows. No thread is left
/// afterwards. One thread at a time.
template <class Answer>
class FanOut {
 public:
  using Ask = std::function<Answer(std::size_t node, const CallLimit&)>;

  FanOut(const std::vector<std::size_t>& nodes, std::size_t of, Ask ask, const CallLimit& limit)
      : limit_{limit},
        ask_{std::move(ask)},
        connected_(of),
        seen_connected_(of),
        answers_(of),
        awaited_{nodes} {
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
      std::terminate();  // a failing eventfd or mutex
    }
  }

  /// Waits until `enough(answers)`, until all nodes have answered, or until that moment or the
  /// limit.
  template <class Enough>
  const Answers<Answer>& wait(const Enough& enough, Deadline until = Deadline::never()) {
    while (!awaited_.empty() && !enough(answers_) && !ended() && !until.passed(base::now())) {
      listen(std::min(until, limit_.until));
    }
    return checked();
  }
  /// The deadline for a node that was seen connected at `connected`: its request is on the way.
  using UntilOf = std::function<Deadline(std::size_t node, std::optional<Moment> connected)>;
  /// Waits for each node until its deadline, but not beyond the limit.
  const Answers<Answer>& linger(const UntilOf& until_of) {
    while (!awaited_.empty() && !ended()) {
      const auto now = base::now();
      auto until = Deadline::at(Moment::min());
      bool all_connected = true;
      for (const auto node : awaited_) {
        auto& seen = seen_connected_[node];
        if (!seen && connected_[node].load(std::memory_order_relaxed)) seen = now;
        until = std::max(until, until_of(node, seen));
        all_connected = all_connected && seen;
      }
      if (until.passed(now)) break;
      if (!all_connected) until = std::min(until, Deadline::after(now, between_looks));
      listen(std::min(until, limit_.until));
    }
    return checked();
  }
  const Answers<Answer>& linger(Deadline until) {
    return linger([until](std::size_t, std::optional<Moment>) { return until; });
  }
  /// Cuts unfinished calls short; their nodes have no answer.
  const Answers<Answer>& end() {
    stop();
    take();
    return checked();
  }

 private:
  // The pause between checks whether a node has connected, which wakes nothing.
  static constexpr Millis between_looks{2};

  struct Cut {};
  struct Heard {
    std::size_t node;
    std::optional<Answer> answer;
    std::exception_ptr trouble;  // in place of an answer: the machine is broken
  };

  void start(std::size_t node, std::ptrdiff_t still_to_ask) {
    auto thread = os::Thread::start([this, node] { ask_one(node, limit_.until); });
    if (thread) {
      threads_.push_back(std::move(*thread));
      return;
    }
    // The machine has no thread to spare: ask the nodes one after the other, with an even share of
    // the time each.
    say_no_thread(thread.error());
    const auto now = base::now();
    ask_one(node, Deadline::after(now, limit_.until.left(now) / still_to_ask));
  }
  void ask_one(std::size_t node, Deadline until) {
    try {
      CallLimit share{until, cut_.descriptor(), &connected_[node]};
      share.news_by = limit_.news_by;
      heard_.post({node, ask_(node, share), nullptr});
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
    const auto ready = os::wait_for(heard_.descriptor(), os::Want::read, limit_.at_most(until));
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
  std::vector<std::atomic<bool>> connected_;
  std::vector<std::optional<Moment>> seen_connected_;
  Answers<Answer> answers_;
  std::vector<std::size_t> awaited_;  // nodes that were asked and have not answered
  bool interrupted_ = false;
  std::exception_ptr trouble_;
  std::vector<os::Thread> threads_;
};

}  // namespace store
