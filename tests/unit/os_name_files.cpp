#include "os/name_files.hpp"

#include <doctest/doctest.h>

#include "surroundings.hpp"

TEST_CASE("a host is found in /etc/hosts by any of its names") {
  const auto* const text =
      "# 127.0.0.1 commented\n127.0.0.1\tlocalhost  Lock.Example # not.this\r\n\n::1 six";
  CHECK(os::is_in_hosts(text, "localhost"));
  CHECK(os::is_in_hosts(text, "lock.example"));
  CHECK(os::is_in_hosts(text, "SIX"));
  for (const auto* const other : {"commented", "127.0.0.1", "not.this", "lock", "", "six6", "#"}) {
    CHECK_FALSE(os::is_in_hosts(text, other));
  }
}

TEST_CASE("a user is found in /etc/passwd by number") {
  const auto* const text =
      "root:x:0:0:root:/root:/bin/sh\n+nis:x:7:7::/:\nbad:x\nodd:x:8z:1::/:\n\nlast:x:1234:1::/:";
  CHECK(os::user_in_passwd(text, 0) == "root");
  CHECK(os::user_in_passwd(text, 1234) == "last");
  for (const uid_t nobody : {1u, 7u, 8u, 12345u}) CHECK_FALSE(os::user_in_passwd(text, nobody));
}

TEST_CASE("services are told apart by whether they are built in, with their actions") {
  const auto* const text =
      "# hosts: no\npasswd: files systemd\n"
      "hosts:  files mdns4_minimal [NOTFOUND=return] dns [!UNAVAIL=return TRYAGAIN=continue] wins\n"
      "hosts: other\n";
  const auto hosts = os::services_in(text, "hosts", {"files", "dns"});
  CHECK(hosts.built_in == "files dns [!UNAVAIL=return TRYAGAIN=continue]");
  CHECK(hosts.plugins == "mdns4_minimal, wins");
  CHECK(os::services_in(text, "passwd", {"files"}).plugins == "systemd");
  const auto none = os::services_in(text, "networks", {"files"});
  CHECK(none.built_in.empty());
  CHECK(none.plugins.empty());
  CHECK(os::services_in("hosts:[x] [ files", "hosts", {"files"}).built_in.empty());
}
TEST_CASE("a user's name that would cut a message is not taken from the environment") {
  const unit::Surroundings surroundings;
  unit::Surroundings::set("LOGNAME", "ann\nstop");
  unit::Surroundings::set("USER", "bob");
  CHECK(os::user_name() == "bob");
  unit::Surroundings::set("LOGNAME", "ann");
  CHECK(os::user_name() == "ann");
}
