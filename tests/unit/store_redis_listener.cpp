// The connection on which the holders of one process receive notices, when descriptors are scarce.
#include "store/redis/listener.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "os/fd.hpp"
#include "temporary_directory.hpp"

namespace unit::store_redis_listener {

namespace {

/// A server that takes all that it is sent, and never answers.
os::Fd listening_at(const std::string& path) {
  os::Fd server{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(path.size() < sizeof address.sun_path);
  std::copy(path.begin(), path.end(), address.sun_path);
  REQUIRE(::bind(server.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(server.number(), 8) == 0);
  return server;
}

/// While it exists, this process can open that many descriptors at most.
class Spare {
 public:
  explicit Spare(rlim_t count) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual_) == 0);
    const os::Fd next{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    auto few = usual_;
    few.rlim_cur = static_cast<rlim_t>(next.number()) + count;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  }
  ~Spare() { ::setrlimit(RLIMIT_NOFILE, &usual_); }
  Spare(const Spare&) = delete;
  Spare& operator=(const Spare&) = delete;

 private:
  rlimit usual_{};
};

}  // namespace

TEST_CASE("without a descriptor to watch two things, a listener watches its connection") {
  const TemporaryDirectory directory;
  const auto server = listening_at(directory / "s");
  const auto group = store::redis::open_listener_group(
      {store::RedisServer::Nodes{store::RedisServer::Unix{directory / "s"}}, {}});
  const auto listener = group->listener(*store::LockName::from("a"), store::Token::foreign("us#a"));
  int alone = -1;
  {
    const Spare spare{1};
    listener->listen({base::Deadline::after(base::now(), base::Millis{1'000})});
    alone = listener->descriptor();
    CHECK(alone >= 0);
    CHECK(listener->descriptor() == alone);
    CHECK_FALSE(listener->take());
  }
  const int both = listener->descriptor();
  CHECK(both >= 0);
  CHECK(both != alone);
  CHECK(listener->descriptor() == both);
}

}  // namespace unit::store_redis_listener
