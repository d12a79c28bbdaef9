#include "store/etcd/text.hpp"

#include <fmt/format.h>

#include <array>

#include "base/fields.hpp"

namespace store::etcd {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t group = 3;    // bytes
constexpr std::size_t quartet = 4;  // characters
constexpr unsigned bits_of_character = 6;
constexpr unsigned bits_of_byte = 8;

// The keys of the longest answer have some 600,000 values and names of values.
constexpr std::size_t most_values = 800'000;
constexpr int deepest = 32;

/// Reads a text without keeping it, until there are too many values. (A parser that is to leave out
/// values looks through those before, each time.)
class Measure final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return count(); }
  bool boolean(bool /*value*/) override { return count(); }
  bool number_integer(number_integer_t /*value*/) override { return count(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return count(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return count(); }
  bool string(string_t& /*value*/) override { return count(); }
  bool binary(binary_t& /*value*/) override { return count(); }
  bool start_object(std::size_t /*elements*/) override { return count() && ++depth_ <= deepest; }
  bool key(string_t& /*value*/) override { return count(); }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t /*elements*/) override { return count() && ++depth_ <= deepest; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t /*position*/, const std::string& /*last_token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  bool count() { return ++values_ <= most_values; }

  std::size_t values_ = 0;
  int depth_ = 0;
};

std::array<int, 256> make_values() {
  std::array<int, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    values[static_cast<unsigned char>(alphabet[i])] = static_cast<int>(i);
  }
  return values;
}

}  // namespace

std::string base64_of(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + group - 1) / group * quartet);
  for (std::size_t at = 0; at < bytes.size(); at += group) {
    const auto part = bytes.substr(at, group);
    unsigned bits = 0;
    for (std::size_t i = 0; i < group; ++i) {
      bits = bits << bits_of_byte | (i < part.size() ? static_cast<unsigned char>(part[i]) : 0U);
    }
    for (std::size_t i = 0; i < quartet; ++i) {
      const auto shift = bits_of_character * static_cast<unsigned>(quartet - 1 - i);
      text += i <= part.size() ? alphabet[bits >> shift & 0x3fU] : '=';
    }
  }
  return text;
}

std::optional<std::string> base64_in(std::string_view text) {
  static const auto values = make_values();
  if (text.size() % quartet != 0) return std::nullopt;
  const auto padding = text.size() - std::min(text.find_last_not_of('=') + 1, text.size());
  if (padding > 2 || (padding > 0 && padding == text.size())) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / quartet * group);
  unsigned bits = 0;
  unsigned count = 0;
  for (const char c : text.substr(0, text.size() - padding)) {
    const int value = values[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    bits = (bits << bits_of_character | static_cast<unsigned>(value)) & 0xffffU;
    count += bits_of_character;
    if (count < bits_of_byte) continue;
    count -= bits_of_byte;
    bytes += static_cast<char>(bits >> count & 0xffU);
  }
  return bytes;
}

std::optional<Json> json_in(std::string_view text) {
  Measure measure;
  if (!Json::sax_parse(text.begin(), text.end(), &measure)) return std::nullopt;
  auto json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (json.is_discarded() || !json.is_object()) return std::nullopt;
  return json;
}

const Json& member_of(const Json& json, const char* name) {
  static const Json none;
  if (!json.is_object()) return none;
  const auto found = json.find(name);
  return found == json.end() ? none : *found;
}

std::optional<std::int64_t> number_of(const Json& json, const char* name) {
  const Json& value = member_of(json, name);
  if (value.is_null()) return 0;
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > INT64_MAX) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_string()) return base::number_in<std::int64_t>(value.get_ref<const std::string&>());
  return std::nullopt;
}

std::string text_of(const Json& json, const char* name) {
  const Json& value = member_of(json, name);
  return value.is_string() ? value.get<std::string>() : std::string{};
}

std::optional<KeyValue> key_value_in(const Json& json) {
  auto key = base64_in(text_of(json, "key"));
  auto value = base64_in(text_of(json, "value"));
  const auto created = number_of(json, "create_revision");
  const auto written = number_of(json, "mod_revision");
  const auto lease = number_of(json, "lease");
  if (!key || key->empty() || !value || !created || *created <= 0 || !written || !lease) {
    return std::nullopt;
  }
  return KeyValue{*std::move(key), *std::move(value), static_cast<std::uint64_t>(*created),
                  *written, *lease};
}

std::string value_of(std::string_view text, std::int64_t created_ms, std::int64_t written_ms) {
  return fmt::format("{} {}\n{}", created_ms, written_ms, text);
}

sessions::Node node_of(const KeyValue& pair, std::int64_t lease, std::int64_t now_ms) {
  sessions::Node node;
  node.stat.created_by = pair.created_by;
  node.stat.version = pair.written_by;
  node.stat.is_ours = lease != 0 && pair.lease == lease;
  const std::string_view value{pair.value};
  const auto end = value.find('\n');
  const auto head = value.substr(0, end);
  const auto blank = head.find(' ');
  std::optional<std::int64_t> created;
  std::optional<std::int64_t> written;
  if (end != std::string_view::npos && blank != std::string_view::npos) {
    created = base::number_in<std::int64_t>(head.substr(0, blank));
    written = base::number_in<std::int64_t>(head.substr(blank + 1));
  }
  if (created && written && *created >= 0 && *written >= 0) {
    node.text = value.substr(end + 1);
    node.stat.created_ms = *created;
    node.stat.written_ms = *written;
  } else {
    node.text = pair.value;
    node.stat.created_ms = node.stat.written_ms = now_ms;
  }
  return node;
}

Fault senseless() {
  return {Fault::Kind::unusable, "an answer of etcd that makes no sense"};
}

}  // namespace store::etcd
