// JSON as rlock writes it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace cmd {

/// Keeps the order of its members, as people read them.
using Json = nlohmann::ordered_json;

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// ASCII only, so that no escape sequence of somebody's name reaches a terminal; bytes that are no
/// UTF-8 become U+FFFD.
inline std::string dumped(const Json& json) {
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace cmd
