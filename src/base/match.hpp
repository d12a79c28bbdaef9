// match(variant, case, case, ...): one lambda per alternative; a forgotten one does not compile.
#pragma once

#include <utility>
#include <variant>

namespace base {

template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};

template <class Variant, class... Cases>
decltype(auto) match(Variant&& value, Cases&&... cases) {
  return std::visit(Overload<std::decay_t<Cases>...>{std::forward<Cases>(cases)...},
                    std::forward<Variant>(value));
}

}  // namespace base
