// The ways to end a wait for a lock before its time.
#pragma once

#include <optional>

#include "os/signals.hpp"

namespace hold {

/// The thread that waits calls it.
class Interruption {
 public:
  struct Taken {
    bool any = false;           // something came, so that a request may have been cut short
    std::optional<int> ends{};  // the wait: the signal that said so, or 0 if none did
  };

  Interruption() = default;
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  virtual ~Interruption() = default;

  /// Readable while take() has something.
  [[nodiscard]] virtual int descriptor() const = 0;
  /// Takes all that came.
  virtual Taken take() = 0;
};

/// The signals of a program: one that would end it ends the wait, one that would stop it stops it.
class InterruptionBySignals final : public Interruption {
 public:
  /// Not owned.
  explicit InterruptionBySignals(os::Signals& signals) : signals_{signals} {}

  [[nodiscard]] int descriptor() const override { return signals_.descriptor(); }
  Taken take() override;

 private:
  os::Signals& signals_;
};

}  // namespace hold
