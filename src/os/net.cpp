#include "os/net.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "os/libraries.hpp"
#include "os/mailbox.hpp"
#include "os/per_process.hpp"
#include "os/thread.hpp"

namespace os {
namespace {

// ---- names to addresses --------------------------------------------------------------------

/// A list, in the order of RFC 6724, for stream sockets.
using Addresses = std::shared_ptr<const addrinfo>;

Error reason(std::string why) {
  return {0, std::move(why)};
}

Result<Addresses> look_up(const std::string& host, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* list = nullptr;
  if (const int rc = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list); rc != 0) {
    return rc == EAI_SYSTEM ? last_error() : reason(::gai_strerror(rc));
  }
  return Addresses{list, &::freeaddrinfo};
}

using Answer = Mailbox<Result<Addresses>>;

/// The look-ups under way: a name has one thread, however many ask for it, and however often while
/// the name servers are silent. Any thread.
class LookUps {
 public:
  static LookUps& ours() {
    static PerProcess<LookUps> all;
    return all.get([] { return std::make_unique<LookUps>(); });
  }

  Result<std::shared_ptr<Answer>> ask(const std::string& host, const std::string& port) {
    auto answer = std::make_shared<Answer>();
    const Key key{host, port};
    const std::lock_guard guard{mutex_};
    const auto [asked, is_new] = asked_.try_emplace(key);
    asked->second.push_back(answer);
    if (!is_new) return answer;
    auto thread = Thread::start([this, key] { tell(key, look_up(key.first, key.second, 0)); });
    if (!thread) {
      asked_.erase(asked);
      return std::move(thread).error();
    }
    thread->detach();
    return answer;
  }

  void leave(const std::string& host, const std::string& port, const Answer& answer) {
    const std::lock_guard guard{mutex_};
    if (const auto asked = asked_.find({host, port}); asked != asked_.end()) {
      std::erase_if(asked->second, [&](const auto& each) { return each.get() == &answer; });
    }
  }

 private:
  using Key = std::pair<std::string, std::string>;

  void tell(const Key& key, const Result<Addresses>& found) {
    const std::lock_guard guard{mutex_};
    for (const auto& answer : asked_[key]) answer->post(found);
    asked_.erase(key);
  }

  std::mutex mutex_{};
  std::map<Key, std::vector<std::shared_ptr<Answer>>> asked_{};
};

Result<Addresses> resolve_host(const std::string& host, const std::string& port,
                               const CallLimit& limit) {
  auto given = look_up(host, port, AI_NUMERICHOST);
  if (given) return given;

  const std::string not_asked = leave_plugins_out();
  auto& look_ups = LookUps::ours();
  const auto asked = look_ups.ask(host, port);
  if (!asked) return reason("cannot look up the name: " + asked.error().text());
  const auto& answer = *asked;
  const auto ready = wait_for(answer->descriptor(), Want::read, limit);
  if (ready != Ready::yes) look_ups.leave(host, port, *answer);
  switch (ready) {
    case Ready::timed_out: return reason("no answer from the name servers");
    case Ready::interrupted: return reason("interrupted");
    case Ready::yes: break;
  }
  auto found = *answer->take();
  if (!found && !not_asked.empty()) return reason(found.error().text() + not_asked);
  return found;
}

/// Empty for a family without a text form. (getnameinfo(3) would need shared libraries.)
std::string text_of(const addrinfo& entry) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (entry.ai_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, entry.ai_addr, sizeof address);
    ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
    return text.data();
  }
  if (entry.ai_family != AF_INET6) return {};
  sockaddr_in6 address{};
  std::memcpy(&address, entry.ai_addr, sizeof address);
  ::inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
  const auto scope = address.sin6_scope_id;
  return scope == 0 ? text.data() : std::string{text.data()} + "%" + std::to_string(scope);
}

// ---- connections ---------------------------------------------------------------------------

constexpr int stream = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

Result<Fd> finish_connect(Fd fd, const sockaddr* address, socklen_t size, const CallLimit& limit) {
  if (::connect(fd.number(), address, size) == 0) return fd;
  // A full backlog of a Unix socket returns EAGAIN: the caller decides about a retry.
  if (errno != EINPROGRESS) return last_error();
  switch (wait_for(fd.number(), Want::write, limit)) {
    case Ready::timed_out: return reason("no answer to the connection attempt");
    case Ready::interrupted: return reason("interrupted");
    case Ready::yes: break;
  }
  int error = 0;
  socklen_t length = sizeof error;
  check(::getsockopt(fd.number(), SOL_SOCKET, SO_ERROR, &error, &length), "asking a socket");
  if (error != 0) return Error{error, {}};
  return fd;
}

void set_option(const Fd& fd, int layer, int option, int value) {
  // Optional: a socket without them still works.
  (void)::setsockopt(fd.number(), layer, option, &value, sizeof value);
}

void tune(const Fd& fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // A waiter may be silent for a heartbeat. This reveals within 30 s a middlebox that forgets quiet
  // connections, or a server that vanished.
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

Result<Fd> connect_unix(const std::string& path, const CallLimit& limit) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return reason("the socket's path is too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd fd{::socket(AF_UNIX, stream, 0)};
  if (!fd) return last_error();
  return finish_connect(std::move(fd), reinterpret_cast<const sockaddr*>(&address), sizeof address,
                        limit);
}

Result<std::vector<std::string>> addresses_of(const std::string& host, const std::string& port,
                                              const CallLimit& limit) {
  const auto resolved = resolve_host(host, port, limit);
  if (!resolved) return resolved.error();
  std::vector<std::string> all;
  for (const addrinfo* entry = resolved->get(); entry != nullptr; entry = entry->ai_next) {
    const auto text = text_of(*entry);
    if (!text.empty() && std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
  }
  return all;
}

Result<Fd> connect_tcp(const std::string& host, const std::string& port, const CallLimit& limit) {
  auto resolved = resolve_host(host, port, limit);
  if (!resolved) return std::move(resolved).error();

  Result<Fd> last = reason("the name has no address");
  for (const addrinfo* entry = resolved->get(); entry != nullptr; entry = entry->ai_next) {
    Fd fd{::socket(entry->ai_family, stream, 0)};
    if (!fd) {
      last = last_error();  // e.g. no IPv6 on this host: try the next
      continue;
    }
    // A silent first address must leave time for the others: give each an even share of the rest.
    std::size_t remaining = 0;
    for (const addrinfo* rest = entry; rest != nullptr; rest = rest->ai_next) ++remaining;
    const base::Moment now = base::now();
    const auto share = limit.until.left(now) / remaining;
    last = finish_connect(std::move(fd), entry->ai_addr, entry->ai_addrlen,
                          limit.at_most(base::Deadline::after(now, share)));
    if (last) {
      tune(*last);
      break;
    }
  }
  return last;
}

Result<std::size_t> receive(int socket, std::string& into, std::size_t most) {
  const auto before = into.size();
  into.resize(before + most);
  const auto got = ::recv(socket, into.data() + before, most, 0);
  const int error = errno;
  into.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got > 0) return static_cast<std::size_t>(got);
  if (got == 0) return reason("the server closed the connection");
  if (error == EAGAIN || error == EINTR) return std::size_t{0};
  return Error{error, {}};
}

Result<std::size_t> send(int socket, std::string_view bytes) {
  const auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (errno == EAGAIN || errno == EINTR) return std::size_t{0};
  return last_error();
}

std::string peer_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  return {reinterpret_cast<const char*>(&address), std::min<std::size_t>(size, sizeof address)};
}

std::uint64_t bytes_received(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  const bool told = ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
  return told ? info.tcpi_bytes_received : 0;
}

void hang_up(int fd) {
  ::shutdown(fd, SHUT_RDWR);
}

}  // namespace os
