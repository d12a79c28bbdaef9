// URLs: how they are cut, and what the parser makes of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "store/backend.hpp"

namespace unit::store_url {

using namespace store;

namespace {

RedisServer redis_of(const std::string& url) {
  auto parsed = parse_server(ServerUrl{url});
  REQUIRE_MESSAGE(parsed, url);
  const auto* server = std::get_if<RedisServer>(&*parsed);
  REQUIRE(server != nullptr);
  return *server;
}

std::string fault_of(const std::string& url) {
  const auto parsed = parse_server(ServerUrl{url});
  return parsed ? "" : parsed.error().why;
}

RedisServer::Nodes nodes_of(const std::string& url) {
  return std::get<RedisServer::Nodes>(redis_of(url).where);
}

RedisServer::Address at(std::string host, std::string port) {
  return RedisServer::Tcp{std::move(host), std::move(port)};
}

}  // namespace

TEST_CASE("a URL is cut into scheme, user info, host, path and query") {
  const auto url = cut_url("redis://u:p@h:1/2?a=b");
  REQUIRE(url);
  CHECK(url->scheme == "redis");
  CHECK(url->has_host);
  CHECK(url->has_user_info);
  CHECK(url->user_info == "u:p");
  CHECK(url->host == "h:1");
  CHECK(url->path == "/2");
  CHECK(url->query == "a=b");
}

TEST_CASE("host:port and a text without a colon are no URLs, file: is one") {
  CHECK_FALSE(cut_url("localhost"));
  CHECK_FALSE(cut_url("localhost:6379"));
  CHECK(cut_url("file:"));
  CHECK_FALSE(cut_url("file:/path")->has_host);
}

TEST_CASE("the last @ ends the user info, whatever stands before it") {
  const auto url = cut_url("redis://u:p@ss/w@h/1");
  REQUIRE(url);
  CHECK(url->user_info == "u:p@ss/w");
  CHECK(url->host == "h");
}

TEST_CASE("%-escapes are decoded, broken ones refused") {
  CHECK(percent_decoded("a%20b%2f") == "a b/");
  CHECK_FALSE(percent_decoded("%"));
  CHECK_FALSE(percent_decoded("%4"));
  CHECK_FALSE(percent_decoded("%4x"));
  CHECK_FALSE(percent_decoded("%xx"));
  CHECK_FALSE(percent_decoded("%+1"));
}

TEST_CASE("an encoded text has no slash and no leading dot, and is read back") {
  CHECK(percent_encoded("..") == "%2E.");
  CHECK(percent_encoded("a/b c") == "a%2Fb%20c");
  CHECK(percent_encoded("aZ09-_:+@=,.") == "aZ09-_:+@=,.");
  std::string all;
  for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
  CHECK(percent_decoded(percent_encoded(all)) == all);
  CHECK_FALSE(percent_decoded("a%00b"));
}

TEST_CASE("a number is all digits and in its bounds") {
  CHECK(number_between("0", 0, 9) == 0);
  CHECK(number_between("9", 0, 9) == 9);
  CHECK_FALSE(number_between("10", 0, 9));
  CHECK_FALSE(number_between("-1", 0, 9));
  CHECK_FALSE(number_between("", 0, 9));
  CHECK_FALSE(number_between("1x", 0, 9));
  CHECK_FALSE(number_between(" 1", 0, 9));
  CHECK_FALSE(number_between("99999999999", 0, 9));
}

TEST_CASE("hosts may be several, have ports, and be IPv6 addresses") {
  CHECK(nodes_of("redis://h") == RedisServer::Nodes{at("h", "6379")});
  CHECK(nodes_of("redis://a:1,[::1]:2,[fe80::1],b") ==
        RedisServer::Nodes{at("a", "1"), at("::1", "2"), at("fe80::1", "6379"), at("b", "6379")});
}

TEST_CASE("a text that is not a host or a port is refused") {
  CHECK(fault_of("redis://[::1") == "a '[' without its ']'");
  CHECK(fault_of("redis://") == "no host");
  CHECK(fault_of("redis://a,,b") == "no host");
  CHECK(fault_of("redis://:6379") == "no host");
  const std::string bytes = "a blank, a control character or a %-escape in a host";
  for (const char* host : {"h%00", "a,%68", "h h", "h\n", "h\x7f"}) {
    CHECK(fault_of(std::string{"redis://"} + host) == bytes);
  }
  CHECK(fault_of("redis+sentinel://h%00/m") == bytes);
  CHECK(nodes_of("redis://[fe80::1%eth0]") == RedisServer::Nodes{at("fe80::1%eth0", "6379")});
  const std::string port = "the port is not a number from 1 to 65535";
  CHECK(fault_of("redis://h:0") == port);
  CHECK(fault_of("redis://h:65536") == port);
  CHECK(fault_of("redis://h:port") == port);
  CHECK(fault_of("redis://[::1]6379") == port);
}

TEST_CASE("every scheme is known, and no other") {
  CHECK(fault_of("localhost") == "no scheme");
  CHECK(fault_of("http://h") == "unknown scheme");
  for (const std::string scheme : {"redis", "rediss", "unix", "redis+sentinel"}) {
    CHECK(fault_of(scheme + ":/x") == "no '//' after the scheme");
  }
  CHECK_FALSE(redis_of("redis://h").access.tls);
  CHECK(redis_of("rediss://h").access.tls);
  CHECK(redis_of("rediss+sentinel://h/m").access.tls);
}

TEST_CASE("user, password and database of a URL") {
  const auto server = redis_of("redis://al%69ce:s%40cret@h/7");
  CHECK(server.access.login.user == "alice");
  CHECK(server.access.login.password.reveal() == "s@cret");
  CHECK(server.access.database == 7);
  CHECK(redis_of("redis://:pw@h").access.login.user.empty());
  CHECK(redis_of("redis://h/").access.database == 0);
  CHECK(fault_of("redis://h/x") == "the database is not a number");
  CHECK(fault_of("redis://h/1000001") == "the database is not a number");
  CHECK(fault_of("redis://%4:b@h") == "a broken %-escape before the '@'");
  CHECK(fault_of("redis://a:%zz@h") == "a broken %-escape before the '@'");
}

TEST_CASE("unix:// wants an absolute path, and may choose a database") {
  CHECK(nodes_of("unix:///a%20b.sock") == RedisServer::Nodes{RedisServer::Unix{"/a b.sock"}});
  CHECK(redis_of("unix://u:p@/s?db=3").access.database == 3);
  CHECK(redis_of("unix://u:p@/s").access.login.user == "u");
  CHECK(fault_of("unix://host/s") == "unix:// needs an absolute path: unix:///path");
  CHECK(fault_of("unix:///") == "unix:// needs an absolute path: unix:///path");
  CHECK(fault_of("unix:///%") == "a broken %-escape in the path");
  CHECK(fault_of("unix:///s?db=x") == "the database is not a number");
}

TEST_CASE("a sentinel URL names the master, perhaps a database, and the sentinels' own login") {
  const auto server =
      redis_of("redis+sentinel://u:p@a,b:2/my%2fmaster/3?sentinel-user=s&sentinel-password=t%26");
  const auto& sentinels = std::get<RedisServer::Sentinels>(server.where);
  CHECK(sentinels.nodes == std::vector{RedisServer::Tcp{"a", "26379"}, RedisServer::Tcp{"b", "2"}});
  CHECK(sentinels.master == "my/master");
  CHECK(sentinels.login.user == "s");
  CHECK(sentinels.login.password.reveal() == "t&");
  CHECK(server.access.login.user == "u");
  CHECK(server.access.database == 3);
  const std::string none = "no name of a master after the hosts";
  CHECK(fault_of("redis+sentinel://a") == none);
  CHECK(fault_of("redis+sentinel://a/") == none);
  CHECK(fault_of("redis+sentinel://a//3") == none);
  CHECK(fault_of("redis+sentinel://a/%") == none);
  CHECK(fault_of("redis+sentinel:///m") == "no host");
  CHECK(fault_of("redis+sentinel://a/m/x") == "the database is not a number");
}

TEST_CASE("the options of TLS") {
  const auto tls =
      *redis_of("rediss://h?cacert=/ca&cert=/c&key=/k&sni=n&insecure-skip-verify=yes").access.tls;
  CHECK(tls.ca_file == "/ca");
  CHECK(tls.certificate_file == "/c");
  CHECK(tls.key_file == "/k");
  CHECK(tls.name == "n");
  CHECK_FALSE(tls.verify);
  CHECK(redis_of("rediss://h").access.tls->verify);
  CHECK(redis_of("rediss://h?insecure-skip-verify=no").access.tls->verify);
  CHECK(fault_of("rediss://h?insecure-skip-verify=") == "insecure-skip-verify is yes or no");
  CHECK(fault_of("rediss://h?cert=/c") == "cert and key go together");
  CHECK(fault_of("rediss://h?key=/k") == "cert and key go together");
  CHECK(fault_of("rediss://h?cacert=") == "cacert needs the path of a file");
  CHECK(fault_of("rediss://h?cert=&key=") == "cert needs the path of a file");
  CHECK(fault_of("rediss://h?cert=/c&key=") == "key needs the path of a file");
  CHECK(fault_of("rediss://h?cacert=%") == "a broken %-escape after the '?'");
  CHECK(redis_of("rediss+sentinel://a/m?cacert=/ca&sentinel-user=s").access.tls->ca_file == "/ca");
}

TEST_CASE("each scheme takes its own options, and says which") {
  CHECK(fault_of("redis://h?db=1") == "redis:// takes no '?' options");
  CHECK(fault_of("redis://h?cacert=/ca") == "redis:// takes no '?' options");
  CHECK(fault_of("unix:///s?sni=x") == "the only options after '?' are db");
  CHECK(fault_of("rediss://h?db=1") ==
        "the only options after '?' are cacert, cert, key, sni and insecure-skip-verify");
  CHECK(fault_of("redis+sentinel://a/m?cacert=x") ==
        "the only options after '?' are sentinel-user and sentinel-password");
  CHECK(fault_of("rediss+sentinel://a/m?other=x") ==
        "the only options after '?' are sentinel-user, sentinel-password, cacert, cert, key, sni "
        "and insecure-skip-verify");
}

TEST_CASE("several servers are a quorum, if all are Redis") {
  const auto spec = [](const std::string& url) { return *parse_server(ServerUrl{url}); };
  const auto one = together({spec("redis://a")});
  CHECK(std::holds_alternative<RedisServer>(*one));
  const auto three = together({spec("redis://a"), spec("redis://b"), spec("unix:///c")});
  CHECK(std::get<Quorum>(*three).servers.size() == 3);
  const auto mixed = together({spec("redis://a"), spec("file:///d"), spec("redis://b")});
  CHECK(mixed.error().why == "only Redis servers can be several");
}

TEST_CASE("a password from elsewhere goes where the URL gave none") {
  const base::Secret password{"pw"};
  const auto filled = [&](const std::string& url) {
    auto spec = *parse_server(ServerUrl{url});
    default_password(spec, password);
    return std::get<RedisServer>(spec).access.login.password.reveal();
  };
  CHECK(filled("redis://h") == "pw");
  CHECK(filled("redis://:own@h") == "own");
  const auto parsed = [](const char* url) { return *parse_server(ServerUrl{url}); };
  auto quorum = *together({parsed("redis://a"), parsed("redis://:x@b"), parsed("redis://c")});
  default_password(quorum, password);
  const auto& servers = std::get<Quorum>(quorum).servers;
  CHECK(servers[0].access.login.password.reveal() == "pw");
  CHECK(servers[1].access.login.password.reveal() == "x");
}

}  // namespace unit::store_url
