// One question to all nodes at once.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "os/mailbox.hpp"
#include "os/poll.hpp"
#include "store/lease.hpp"

namespace store::quorum {

using os::CallLimit;

/// Asks each node in a thread of its own. Who is late is cut short (each node's own call can be
/// interrupted) when this is destroyed, or at the end of limit: a silent minority costs no more
/// than one is ready to wait for it. No thread is left afterwards. One thread at a time.
template <class Answer>
class Round {
 public:
  using Answers = std::vector<std::optional<Answer>>;  // nothing: not yet, or not asked
  using Ask = std::function<Answer(std::size_t node, const CallLimit&)>;

  Round(const std::vector<std::size_t>& nodes, std::size_t of, Ask ask, const CallLimit& limit)
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
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;
  ~Round() {
    try {
      stop();
    } catch (...) {
      std::terminate();  // an eventfd or a mutex that fails
    }
  }

  /// Until `enough` of the answers, all of them, or limit.
  template <class Enough>
  const Answers& wait(const Enough& enough) {
    while (left_ > 0 && !enough(answers_) && !ended()) listen(limit_.until);
    return checked();
  }
  /// For those who are late: as long as they are given, but not beyond limit.
  const Answers& linger(Deadline until) {
    while (left_ > 0 && !until.passed(base::now()) && !ended()) {
      listen(std::min(until, limit_.until));
    }
    return checked();
  }
  /// Whoever has not answered will not any more.
  const Answers& end() {
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
      threads_.emplace_back(&Round::ask_one, this, node, limit_.until);
    } catch (const std::system_error&) {
      // The machine has no thread to spare: then one after the other, with an even share each.
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
  const Answers& checked() {
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
  Answers answers_;
  std::size_t left_;
  bool interrupted_ = false;
  std::exception_ptr trouble_;
  std::vector<std::thread> threads_;
};

}  // namespace store::quorum
