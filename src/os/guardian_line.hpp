// The line between rlock and its guardian or witness process: the messages, and what the process at
// the far end does.
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

/// From the guardian: a change of the job's process. `all_ended`: nothing is left of the tree, and
/// the guardian is exiting. `signalled`: process `job` sent signal `value` to the guardian itself.
/// `answer`: the reply to the order with that number.
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
  int value;  // errno, or the status of waitpid(2); for started: the guardian's own number
};

/// To the guardian: a signal for the job's process or for the whole tree, rlock's deadline, the
/// order to kill the whole tree from now on, or to report the signals that it received itself and
/// then answer.
struct Order {
  enum class Kind { signal, signal_tree, keep_until, kill_tree, report_signals } kind;
  int signal;  // for report_signals: the number of the answer
  base::Moment until;
  std::optional<std::uint64_t> value{};  // sent along with the signal (sigqueue(3))
};

struct HungUp {};  // the process at the other end is gone

/// One end of a socket pair that carries whole messages between two processes of one program.
/// send() never blocks: if there is no room, the message is lost and send() reports it.
class GuardianLine {
 public:
  GuardianLine() = default;  // not connected
  static void connect(GuardianLine& one, GuardianLine& other);

  void close() { fd_ = Fd{}; }

  bool send(const Report& report) { return send_bytes(&report, sizeof report); }
  bool send(const Order& order) { return send_bytes(&order, sizeof order); }

  /// The next message; nothing if there is none. Never blocks.
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

/// Sends the job the signal of `order`, with its value. The caller must know that the number still
/// means the job.
void pass_on(pid_t job, const Order& order);

// ---- what a process at the far end does -----------------------------------------------------

void block_all_signals();
/// Takes and reports signals that other processes sent to this one.
void report_signals(GuardianLine& line, Signals& signals);

/// A job that ends within this time costs as little as possible: work that nobody can have seen by
/// then is left for later.
inline constexpr base::Millis short_job{20};

}  // namespace os
