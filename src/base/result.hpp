// The outcome of a call as a value: one of several outcomes, a value or an error, a secret.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace base {

template <typename... Arms>
struct Overload : Arms... {
  using Arms::operator()...;
};

/// Calls the arm for the alternative that `outcome` holds. A missing arm does not compile.
template <typename Variant, typename... Arms>
decltype(auto) match(Variant&& outcome, Arms&&... arms) {
  return std::visit(Overload<std::decay_t<Arms>...>{std::forward<Arms>(arms)...},
                    std::forward<Variant>(outcome));
}

/// A `T`, or the error that says why there is none:
///     auto reply = ask(...);
///     if (!reply) return std::move(reply).error();
///     use(*reply);
template <typename T, typename E>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_{std::in_place_index<0>, std::move(value)} {}
  Result(E error) : held_{std::in_place_index<1>, std::move(error)} {}

  explicit operator bool() const { return held_.index() == 0; }

  /// Throws std::bad_variant_access if there is no value.
  T& operator*() & { return std::get<0>(held_); }
  const T& operator*() const& { return std::get<0>(held_); }
  T&& operator*() && { return std::get<0>(std::move(held_)); }
  T* operator->() { return &std::get<0>(held_); }
  const T* operator->() const { return &std::get<0>(held_); }

  T value_or(T other) && { return *this ? std::get<0>(std::move(held_)) : std::move(other); }

  /// Throws std::bad_variant_access if there is a value.
  [[nodiscard]] E& error() & { return std::get<1>(held_); }
  [[nodiscard]] const E& error() const& { return std::get<1>(held_); }
  [[nodiscard]] E&& error() && { return std::get<1>(std::move(held_)); }

 private:
  std::variant<T, E> held_;
};

/// The value of a call that returns none: Result<Done, E>.
struct Done {};

/// A password, which can be passed to a server but not printed by accident. It has no stream
/// operator, fmt formatter or implicit conversion: the only way out is reveal(), which is easy to
/// find in a review.
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
