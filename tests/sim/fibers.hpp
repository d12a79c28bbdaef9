// Clients as fibers, in a time that passes only when all of them wait.
//
// One of them runs at a time, until it waits; which one comes next follows from the past alone. So
// a run of hours takes milliseconds, and the same seed gives the same run.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

namespace sim {

using Nanos = std::int64_t;
inline constexpr Nanos ms = 1'000'000;
inline constexpr Nanos s = 1000 * ms;

/// One run of the program: its fibers are its threads.
struct Process {
  int number = 0;
  Nanos stopped_until = 0;  // by SIGSTOP
  bool dead = false;
};

/// Made by Scheduler::spawn.
class Fiber {
 public:
  [[nodiscard]] Process& process() const { return *process_; }
  [[nodiscard]] bool is_over() const { return over_; }

 private:
  friend class Scheduler;
  void* stack_pointer_ = nullptr;
  std::unique_ptr<char[]> stack_;
  std::function<void()> body_;
  Process* process_ = nullptr;
  bool ready_ = false;
  bool over_ = false;
  std::uint64_t parked_ = 0;          // how often it has waited
  std::uint64_t exceptions_[2] = {};  // what the C++ runtime keeps of those that it handles
  void* marks_ = nullptr;             // what the address sanitizer keeps of it
};

class Scheduler {
 public:
  Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler();

  Process& new_process();
  Fiber& spawn(Process& process, std::function<void()> body);
  /// Called then, outside of all fibers.
  void at(Nanos when, std::function<void()> act);
  /// Until all fibers are over. Throws what one of them threw, and std::runtime_error where they
  /// wait for what cannot come, beyond `horizon`, or without an end.
  void run(Nanos horizon);
  /// Lets the time pass, with nobody there.
  void pass(Nanos until);

  [[nodiscard]] Nanos now() const { return now_; }
  /// How often something has happened, or one of them has gone on.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  /// The one that runs; nothing between them.
  [[nodiscard]] Fiber* running() const { return running_; }
  /// Lets the running one wait until somebody wakes it, or until that moment.
  void park(Nanos until);
  void wake(Fiber& fiber);
  /// As kill -9 does: its fibers never go on, and their memory is lost. Not for the one that runs.
  void kill(Process& process);
  /// As kill -STOP does.
  void stop(Process& process, Nanos until);
  /// Called when one is over.
  void when_over(std::function<void()> act) { when_over_ = std::move(act); }

 private:
  struct Event {
    Nanos when;
    std::uint64_t order;
    std::function<void()> act;
    bool operator>(const Event& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };
  static void enter();
  void resume(Fiber& fiber);
  void happen();
  void end(Fiber& fiber);

  Nanos now_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t order_ = 0;
  std::vector<Event> events_;  // a heap, the next one first
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::deque<Fiber*> ready_;
  std::size_t over_ = 0;
  Fiber* running_ = nullptr;
  void* main_stack_pointer_ = nullptr;
  std::uint64_t main_exceptions_[2] = {};
  void* main_marks_ = nullptr;
  const void* main_bottom_ = nullptr;
  std::size_t main_size_ = 0;
  std::exception_ptr failure_;
  std::function<void()> when_over_;
};

}  // namespace sim
