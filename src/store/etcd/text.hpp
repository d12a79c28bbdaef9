// The texts of etcd's JSON gateway: base64, numbers as strings, and the values of nodes. No socket.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "store/sessions/session.hpp"

namespace store::etcd {

using Json = nlohmann::json;

std::string base64_of(std::string_view bytes);
/// Nothing unless the text is base64 with its padding.
std::optional<std::string> base64_in(std::string_view text);

/// An answer, which must be an object; nothing for any other text, and for one with more values
/// than any answer has, each of which takes more memory than text.
std::optional<Json> json_in(std::string_view text);

/// The member of an object; null if there is no such member, or `json` is no object.
const Json& member_of(const Json& json, const char* name);
/// A number, which the gateway writes as a string if it has 64 bits, and leaves out if it is 0.
/// Nothing for a text that is no number.
std::optional<std::int64_t> number_of(const Json& json, const char* name);
/// The empty text if there is none.
std::string text_of(const Json& json, const char* name);

/// A key and its value as an answer tells it.
struct KeyValue {
  std::string key;
  std::string value;
  std::uint64_t created_by = 0;  // the revision
  std::int64_t written_by = 0;
  std::int64_t lease = 0;
};
std::optional<KeyValue> key_value_in(const Json& json);

/// The value of a node: the clients' times, ms since 1970, and the text.
std::string value_of(std::string_view text, std::int64_t created_ms, std::int64_t written_ms);
/// The node of a key; `lease` is the session's. A value that no rlock wrote is the text, as if it
/// had been written at `now_ms`: its times are unknown, and it is not from 1970.
sessions::Node node_of(const KeyValue& pair, std::int64_t lease, std::int64_t now_ms);

/// For an answer that no etcd gives.
Fault senseless();

}  // namespace store::etcd
