// A password: it can be carried and handed to a server, but not printed by accident.
#pragma once

#include <string>
#include <utility>

namespace base {

/// No stream operator, no fmt formatter, no implicit conversion: the only way out is reveal(),
/// which is easy to find in a review.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_{std::move(text)} {}

  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] const std::string& reveal() const { return text_; }

 private:
  std::string text_;
};

}  // namespace base
