// The texts of etcd's JSON gateway.
#include <doctest/doctest.h>

#include "store/etcd/text.hpp"

namespace unit::etcd_text {

namespace {

using namespace store::etcd;

}  // namespace

TEST_CASE("base64, both ways") {
  // RFC 4648, section 10.
  const std::vector<std::pair<std::string, std::string>> pairs{
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
      {std::string{"\xff\xfe\x00", 3}, "//4A"}};
  for (const auto& [bytes, text] : pairs) {
    CHECK(base64_of(bytes) == text);
    CHECK(base64_in(text) == bytes);
  }
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  CHECK(base64_in(base64_of(all)) == all);
  for (const char* bad : {"Z", "Zg", "Zg=", "Zg===", "====", "Z===", "Zm9-", "Zm 9", "=Zg="}) {
    CHECK_FALSE(base64_in(bad).has_value());
  }
}

TEST_CASE("an answer is an object of a reasonable size") {
  CHECK(json_in("{\"a\":1}").has_value());
  for (const char* bad : {"", "[]", "1", "{", "{}x", "404 page not found"}) {
    CHECK_FALSE(json_in(bad).has_value());
  }
  std::string deep = "{\"a\":";
  for (int i = 0; i < 100; ++i) deep += '[';
  for (int i = 0; i < 100; ++i) deep += ']';
  CHECK_FALSE(json_in(deep + "}").has_value());
  std::string many = "{\"a\":[0";
  for (int i = 0; i < 900'000; ++i) many += ",0";
  CHECK_FALSE(json_in(many + "]}").has_value());
  many = "{\"a\":[{}";
  for (int i = 0; i < 500'000; ++i) many += ",{\"a\":{}}";
  CHECK_FALSE(json_in(many + "]}").has_value());
}

TEST_CASE("numbers are strings, numbers or left out") {
  const Json json{{"a", "12"}, {"b", 12}, {"c", "x"}, {"d", -3}, {"e", 1.5}, {"f", UINT64_MAX}};
  CHECK(number_of(json, "a") == 12);
  CHECK(number_of(json, "b") == 12);
  CHECK_FALSE(number_of(json, "c").has_value());
  CHECK(number_of(json, "d") == -3);
  CHECK_FALSE(number_of(json, "e").has_value());
  CHECK_FALSE(number_of(json, "f").has_value());
  CHECK(number_of(json, "g") == 0);
  CHECK(number_of(Json{}, "a") == 0);
  CHECK(text_of(json, "a") == "12");
  CHECK(text_of(json, "b").empty());
}

TEST_CASE("a node keeps its text and its times") {
  const KeyValue pair{"k", value_of("text\nmore", 5, 7), 11, 12, 99};
  const auto node = node_of(pair, 99, 1'000);
  CHECK(node.text == "text\nmore");
  CHECK(node.stat.created_ms == 5);
  CHECK(node.stat.written_ms == 7);
  CHECK(node.stat.created_by == 11);
  CHECK(node.stat.version == 12);
  CHECK(node.stat.is_ours);
  CHECK_FALSE(node_of(pair, 98, 0).stat.is_ours);
  CHECK_FALSE(node_of({"k", "", 1, 1, 0}, 0, 0).stat.is_ours);
}

TEST_CASE("a value that no rlock wrote is a text of now") {
  for (const char* value : {"", "x", "1\n", "1 x\ny", "1 2", "-1 2\nx", "1 2 3\nx"}) {
    const auto node = node_of({"k", value, 1, 1, 0}, 0, 1'000);
    CHECK(node.text == value);
    CHECK(node.stat.created_ms == 1'000);
    CHECK(node.stat.written_ms == 1'000);
  }
}

}  // namespace unit::etcd_text
