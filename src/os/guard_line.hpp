// The line between rlock and the guardian of its job.
#pragma once

#include <sys/types.h>

#include <optional>
#include <utility>
#include <variant>

#include "base/clock.hpp"
#include "os/fd.hpp"

namespace os {

/// From the guardian: what became of the job's process. With `all_ended`, nothing is left of the
/// tree either, nor of the guardian but what it takes to exit.
struct Report {
  enum class Kind { started, not_forked, not_executed, stopped, ended, all_ended } kind;
  pid_t job;
  int value;  // errno, or the status as from waitpid(2)
};

/// To the guardian: a signal for the job's process, or the time that rlock sets itself.
struct Order {
  enum class Kind { signal, keep_until } kind;
  int signal;
  base::Moment until;
};

struct HungUp {};  // whoever was at the other end is gone

/// One end of a pair of sockets that carry whole messages between two processes of one program.
/// Neither end ever blocks in send(): a message that finds no room is lost, and reported as such.
class GuardLine {
 public:
  GuardLine() = default;  // not connected
  static void connect(GuardLine& one, GuardLine& other);

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

  /// Readable while there is a message, or nobody at the other end.
  [[nodiscard]] int descriptor() const { return fd_.number(); }

 private:
  enum class Taken { message, nothing, hung_up };
  explicit GuardLine(Fd fd) : fd_{std::move(fd)} {}
  bool send_bytes(const void* bytes, std::size_t size);
  Taken take_bytes(void* bytes, std::size_t size);

  Fd fd_;
};

}  // namespace os
