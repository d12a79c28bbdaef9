// etcd: URLs.
#include <doctest/doctest.h>

#include "store/backend.hpp"

namespace unit::etcd_cluster {

namespace {

std::string read(const std::string& url) {
  const auto parsed = store::parse_server(store::ServerUrl{url});
  if (!parsed) return "bad: " + parsed.error().why;
  const auto& cluster = std::get<store::Etcd>(*parsed);
  std::string text;
  for (const auto& each : cluster.members) text += each.host + " " + each.port + ",";
  return text + cluster.prefix + "," + cluster.user + "," + cluster.password.reveal();
}

}  // namespace

TEST_CASE("the parts of an etcd: URL") {
  CHECK(read("etcd://h") == "h 2379,rlock,,");
  CHECK(read("etcd://h/") == "h 2379,rlock,,");
  CHECK(read("etcd://h:1,i,[::1]:3/team/locks") == "h 1,i 2379,::1 3,team/locks,,");
  CHECK(read("etcd://h/locks/") == "h 2379,locks,,");
  CHECK(read("etcd://h//locks") == "h 2379,/locks,,");
  CHECK(read("etcd://u:p%40q@h/a%20b") == "h 2379,a b,u,p@q");
  CHECK(read("etcd://u@h") == "h 2379,rlock,u,");
}

TEST_CASE("URLs that name no etcd cluster") {
  CHECK(read("etcd:/h") == "bad: no '//' after the scheme");
  CHECK(read("etcd://") == "bad: no host");
  CHECK(read("etcd://:p@h") == "bad: before the '@' stands user:password");
  CHECK(read("etcd://h?x=y") == "bad: etcd:// takes no '?' options");
  CHECK(read("etcd://h//") == "bad: the prefix is not a valid one");
  CHECK(read("etcd://h/%00") == "bad: the prefix is not a valid one");
}

TEST_CASE("etcds: URLs have the options of TLS") {
  const auto parsed = store::parse_server(
      store::ServerUrl{"etcds://u:p@h?cacert=/ca&cert=/c&key=/k&sni=n&insecure-skip-verify=yes"});
  REQUIRE(static_cast<bool>(parsed));
  const auto& tls = *std::get<store::Etcd>(*parsed).tls;
  CHECK(tls.ca_file == "/ca");
  CHECK(tls.certificate_file == "/c");
  CHECK(tls.key_file == "/k");
  CHECK(tls.name == "n");
  CHECK_FALSE(tls.verify);
  CHECK(store::what_takes_libraries(*parsed) == "TLS");
  CHECK(store::what_takes_libraries(*store::parse_server(store::ServerUrl{"etcd://h"})).empty());
  CHECK(read("etcds://h/x") == "h 2379,x,,");
  CHECK(read("etcds://h?cert=/c") == "bad: cert and key go together");
  CHECK(read("etcds://h?cacert=") == "bad: cacert needs the path of a file");
  CHECK(read("etcds://h?db=1") ==
        "bad: the only options after '?' are cacert, cert, key, sni and insecure-skip-verify");
}

}  // namespace unit::etcd_cluster
