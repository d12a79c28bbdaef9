// JSON as rlock writes it.
#pragma once

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

/// A long text, passed on in pieces.
class Pieces {
 public:
  using Write = std::function<void(std::string_view)>;
  explicit Pieces(Write write) : write_{std::move(write)} {}

  void add(std::string_view text) {
    waiting_ += text;
    if (waiting_.size() >= enough) end();
  }
  void end() {
    write_(waiting_);
    waiting_.clear();
  }

 private:
  static constexpr std::size_t enough = std::size_t{64} << 10;
  Write write_;
  std::string waiting_{};
};

/// {"NAME": [...]} as dumped() would write it, one element after the other.
class JsonList {
 public:
  JsonList(std::string_view name, Pieces::Write write) : text_{std::move(write)} {
    text_.add("{\n  \"" + std::string{name} + "\": [");
  }

  void add(const Json& element) {
    text_.add(empty_ ? "\n    " : ",\n    ");
    empty_ = false;
    std::string lines = dumped(element);
    lines.pop_back();
    for (std::size_t from = 0; from < lines.size();) {
      const auto end = std::min(lines.find('\n', from), lines.size());
      text_.add(std::string_view{lines}.substr(from, end - from));
      if (end < lines.size()) text_.add("\n    ");
      from = end + 1;
    }
  }
  void end() {
    text_.add(empty_ ? "]\n}\n" : "\n  ]\n}\n");
    text_.end();
  }

 private:
  Pieces text_;
  bool empty_ = true;
};

}  // namespace cmd
