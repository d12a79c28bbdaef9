// The line between rlock and a process of its own that watches beside it, the guardian of the job
// or the witness: its messages, and what the process at its far end does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "base/clock.hpp"
#include "os/fd.hpp"

namespace os {

class Signals;

/// From the guardian: what became of the job's process. With `all_ended`, nothing is left of the
/// tree either, nor of the guardian but what it takes to exit. `signalled`: process `job` sent the
/// signal `value` to the guardian itself; `answer`: to the order with that number.
struct Report {
  enum class Kind {
    started,
    not_forked,
    not_executed,
    late,
    stopped,
    ended,
    all_ended,
    signalled,
    answer
  } kind;
  pid_t job;
  int value;  // errno, or the status as from waitpid(2); started: the guardian's own number
};

/// To the guardian: a signal for the job's process or for the whole tree, the time that rlock sets
/// itself, to kill the whole tree from now on, or to report the signals that it got itself and then
/// to answer.
struct Order {
  enum class Kind { signal, signal_tree, keep_until, kill_tree, report_signals } kind;
  int signal;  // with report_signals: the number that the answer gets
  base::Moment until;
  std::optional<std::uint64_t> value{};  // that goes with the signal (sigqueue(3))
};

struct HungUp {};  // the process at the other end is gone

/// One end of a pair of sockets that carry whole messages between two processes of one program.
/// Neither end ever blocks in send(): a message that finds no room is lost, and reported as such.
class GuardianLine {
 public:
  GuardianLine() = default;  // not connected
  static void connect(GuardianLine& one, GuardianLine& other);

  void close() { fd_ = Fd{}; }

  bool send(const Report& report) { return send_bytes(&report, sizeof report); }
  bool send(const Order& order) { return send_bytes(&order, sizeof order); }

  /// The next message, or nothing if none is there. Never blocks.
  template <class Message>
  std::variant<std::monostate, Message, HungUp> take() {
    Message message{};
    switch (take_bytes(&message, sizeof message)) {
      case Taken::message: return message;
      case Taken::nothing: return std::monostate{};
      case Taken::hung_up: break;
    }
    return HungUp{};
  }

  /// Readable while there is a message, or when the other end is gone.
  [[nodiscard]] int descriptor() const { return fd_.number(); }

 private:
  enum class Taken { message, nothing, hung_up };
  explicit GuardianLine(Fd fd) : fd_{std::move(fd)} {}
  bool send_bytes(const void* bytes, std::size_t size);
  Taken take_bytes(void* bytes, std::size_t size);

  Fd fd_;
};

/// Sends the job the signal of `order`, with its value. The caller knows that the number still
/// means the job.
void pass_on(pid_t job, const Order& order);

// ---- what a process at the far end does -----------------------------------------------------

void block_all_signals();
/// Takes what other processes sent to this one, and reports it.
void report_signals(GuardianLine& line, Signals& signals);

/// A job that ends before costs no more than it must: what nobody can have seen by then is left
/// for later.
inline constexpr base::Millis short_job{20};

}  // namespace os
