// A std::stop_token as what ends a wait.
#pragma once

#include <optional>
#include <stop_token>
#include <utility>

#include "hold/interruption.hpp"
#include "os/mailbox.hpp"

namespace library {

class InterruptionByToken final : public hold::Interruption {
 public:
  /// A token that nobody can stop costs no descriptor. Throws std::system_error if none is left.
  explicit InterruptionByToken(std::stop_token token) : token_{std::move(token)} {
    if (token_.stop_possible()) bell_.emplace(token_);
  }

  [[nodiscard]] int descriptor() const override { return bell_ ? bell_->stopped.descriptor() : -1; }
  Taken take() override {
    if (!token_.stop_requested()) return {};
    return {true, 0};
  }

 private:
  struct Stopped {};
  struct Ring {
    os::Mailbox<Stopped>& stopped;
    void operator()() const { stopped.post({}); }
  };
  struct Bell {
    explicit Bell(const std::stop_token& token) : callback{token, Ring{stopped}} {}

    os::Mailbox<Stopped> stopped{};
    std::stop_callback<Ring> callback;
  };

  std::stop_token token_;
  std::optional<Bell> bell_{};
};

}  // namespace library
