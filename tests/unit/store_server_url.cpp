// The URLs that name servers: what is shown of them, and what is hidden in argv.
#include "store/server_url.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "store/url.hpp"

namespace unit::store_server_url {

using namespace store;

namespace {

std::string public_text(const std::string& url) {
  return ServerUrl{url}.without_secret();
}

std::vector<std::string> each_of(const std::string& text) {
  std::vector<std::string> texts;
  for (const auto& each : ServerUrl{text}.each()) texts.push_back(each.reveal());
  return texts;
}

/// As scrub_argv() does with a word of argv.
std::string scrubbed(std::string word) {
  for (const auto& [begin, end] : secrets_in(word)) {
    std::fill(word.begin() + static_cast<std::ptrdiff_t>(begin),
              word.begin() + static_cast<std::ptrdiff_t>(end), '*');
  }
  return word;
}

}  // namespace

static_assert(!std::is_convertible_v<ServerUrl, std::string>);
static_assert(!std::is_convertible_v<ServerUrl, std::string_view>);
static_assert(!std::is_convertible_v<std::string, ServerUrl>);
static_assert(!fmt::is_formattable<ServerUrl>::value);

TEST_CASE("a URL of every kind is shown without its secret, and reveals it by name only") {
  struct Row {
    std::string written;
    std::string shown;
  };
  const std::vector<Row> rows{
      {"redis://u:hunter2@h:1,[::1]:2/3", "redis://h:1,[::1]:2/3"},
      {"rediss://:hunter2@h/1?cacert=/c&sni=n", "rediss://h/1?cacert=/c&sni=n"},
      {"unix://:hunter2@/run/redis.sock?db=1", "unix:///run/redis.sock?db=1"},
      {"redis+sentinel://a:hunter2@h/m/1?sentinel-user=u&sentinel-password=hunter2",
       "redis+sentinel://h/m/1"},
      {"rediss+sentinel://h/m?sentinel-password=hunter2&insecure-skip-verify=yes",
       "rediss+sentinel://h/m?insecure-skip-verify=yes"},
      {"zk://u:hunter2@h:1,i:2/path", "zk://h:1,i:2/path"},
      {"etcd://u:hunter2@h:1,i:2/prefix", "etcd://h:1,i:2/prefix"},
      {"file:", "file:"},
      {"file:///a/directory", "file:///a/directory"},
      {"redis://:hunter2@a redis://:hunter2@b\tredis://c", "redis://a redis://b redis://c"},
      // None that can be read.
      {"", ""},
      {"h:6379", "h:6379"},
      {"u:hunter2@h", "h"},
      {"postgresql://u:hunter2@h/db", "postgresql://h/db"},
      {"redis://u:hunter2", "redis://…"},
      {"redis://h:99999x", "redis://…"},
      {"redis://:hunter2@a redis", "redis://a redis"},
      {"redis://[::1", "redis://[::1"},
      {"redis://h?pass=hunter2", "redis://h?pass=…"},
      {"redis://u:%zzhunter2@h", "redis://h"},
      {"redis://:hunter2@\x1b[2Jh\n", "redis://\\x1b[2Jh\\n"},
  };
  for (const Row& row : rows) {
    const ServerUrl url{row.written};
    CHECK(url.shown() == row.shown);
    CHECK(url.reveal() == row.written);
  }
}

TEST_CASE("with a bound, only that much is shown") {
  const ServerUrl url{"redis://:hunter2@" + std::string(500, 'h')};
  CHECK(url.shown(20) == "redis://" + std::string(12, 'h') + "…");
  CHECK(url.shown().size() == 508);
}

TEST_CASE("each URL of a quorum is shown without its own secret") {
  const auto urls = ServerUrl{"redis://:hunter2@a redis://b redis://u:hunter2@c"}.each();
  REQUIRE(urls.size() == 3);
  CHECK(urls[0].shown() == "redis://a");
  CHECK(urls[0].reveal() == "redis://:hunter2@a");
  CHECK(urls[1].shown() == "redis://b");
  CHECK(urls[2].shown() == "redis://c");
}

TEST_CASE("a text is several URLs only if each word is one") {
  CHECK(each_of("redis://a redis://b") == std::vector<std::string>{"redis://a", "redis://b"});
  CHECK(each_of("  redis://a\tredis://b ") == std::vector<std::string>{"redis://a", "redis://b"});
  CHECK(each_of("redis://a b") == std::vector<std::string>{"redis://a b"});
  CHECK(each_of("redis://:a pass@h") == std::vector<std::string>{"redis://:a pass@h"});
  CHECK(each_of("") == std::vector<std::string>{""});
}

TEST_CASE("a good URL stays one, without user, password and secret options") {
  CHECK(public_text("redis://h:1/2") == "redis://h:1/2");
  CHECK(public_text("redis://u:p@h:1/2") == "redis://h:1/2");
  CHECK(public_text("redis://:p@ss@[::1]:1") == "redis://[::1]:1");
  CHECK(public_text("unix://u:p@/s?db=1") == "unix:///s?db=1");
  CHECK(public_text("redis+sentinel://a/m?sentinel-user=u&sentinel-password=p") ==
        "redis+sentinel://a/m");
  CHECK(public_text("rediss+sentinel://a/m?cacert=/c&sentinel-password=p&sni=n") ==
        "rediss+sentinel://a/m?cacert=/c&sni=n");
  CHECK(public_text("redis://:a@h redis://:b@i") == "redis://h redis://i");
}

TEST_CASE("of every option either the value is shown or neither name nor value") {
  for (const UrlOption& option : url_options) {
    const std::string text = public_text("x://h?" + std::string{option.name} + "=hunter2");
    if (option.secrecy == UrlOption::Secrecy::none) {
      CHECK(text == "x://h?" + std::string{option.name} + "=hunter2");
    } else {
      CHECK(text == "x://h");
    }
  }
}

TEST_CASE("a part of a garbled URL that may be a password is not shown") {
  CHECK(public_text("redis://user:hunter2") == "redis://…");
  CHECK(public_text("redis://:hunter2") == "redis://…");
  CHECK(public_text("redis://h:123456") == "redis://…");
  CHECK(public_text("redis://[::1]:hunter2") == "redis://…");
  CHECK(public_text("redis://h?sentinel-pasword=hunter2") == "redis://h?sentinel-pasword=…");
  CHECK(public_text("redis://h?hunter2=x1") == "redis://h?…");
  CHECK(public_text("redis://h?hunter2") == "redis://h?…");
  CHECK(public_text("redis://:hun?ter2@h") == "redis://…");
  CHECK(public_text("hunter2@h:1") == "h:1");
  CHECK(public_text("--server=redis://:hunter2@h") == "--server=redis://h");
  CHECK(public_text("we!rd://:hunter2@h") == "h");
}

TEST_CASE("argv hides user info and the value of every password option") {
  CHECK(scrubbed("redis://u:p@h/1") == "redis://***@h/1");
  CHECK(scrubbed("--server=redis://:p@s@h") == "--server=redis://****@h");
  CHECK(scrubbed("redis://h") == "redis://h");
  CHECK(scrubbed("redis://@h") == "redis://@h");
  CHECK(scrubbed("me@host") == "me@host");
  CHECK(scrubbed("me@host://x") == "me@host://x");
  CHECK(scrubbed("redis+sentinel://a/m?sentinel-user=ab&sentinel-password=cde&db=1") ==
        "redis+sentinel://a/m?sentinel-user=ab&sentinel-password=***&db=1");
  CHECK(scrubbed("?sentinel-password=a&sentinel-password=b") ==
        "?sentinel-password=*&sentinel-password=*");
  CHECK(scrubbed("sentinel-password=") == "sentinel-password=");
  for (const UrlOption& option : url_options) {
    const bool hidden =
        scrubbed("x://h?" + std::string{option.name} + "=hunter2").find("hunter2") ==
        std::string::npos;
    CHECK(hidden == (option.secrecy == UrlOption::Secrecy::password));
  }
}

TEST_CASE("no kind of URL shows its password, in messages or in argv") {
  for (const std::string before :
       {"redis://u:", "rediss://:", "unix://u:", "redis+sentinel://u:", "zk://u:", "etcd://u:",
        "etcds://u:", "rediss+sentinel://:", "redis://a b:", "redis://u:/?#&="}) {
    const std::string url = before + "hunter2@h/m?cacert=x";
    CHECK_MESSAGE(public_text(url).find("hunter2") == std::string::npos, url);
    CHECK_MESSAGE(scrubbed(url).find("hunter2") == std::string::npos, url);
  }
}

}  // namespace unit::store_server_url
