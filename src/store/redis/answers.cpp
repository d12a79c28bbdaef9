#include "store/redis/answers.hpp"

#include <charconv>

namespace store::redis {

std::optional<Occupant> occupant_in(const Reply& reply, std::size_t first) {
  const std::string_view kind = reply[first + 3].text();
  if (kind.empty() || kind == "none") return std::nullopt;
  Occupant occupant{Occupant::Kind::foreign, std::string{reply[first].text()}, std::nullopt,
                    std::nullopt};
  if (kind == "holder") occupant.kind = Occupant::Kind::holder;
  if (kind == "reserved") occupant.kind = Occupant::Kind::reserved;
  if (const auto left = reply[first + 1].integer(); left >= 0) occupant.expires_in = Millis{left};
  if (const auto held = reply[first + 2].integer(); held >= 0) occupant.held_for = Millis{held};
  return occupant;
}

std::optional<Fence> fence_in(const Reply& field) {
  const std::string_view text = field.text();
  Fence fence = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fence);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return fence;
}

Fault nonsense() {
  return {Fault::Kind::unusable, "an answer that makes no sense"};
}

}  // namespace store::redis
