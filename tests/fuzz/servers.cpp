// A whole Redis server, or sentinel, that says what the input says: the first byte chooses the
// question.
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <mutex>
#include <thread>

#include "cmd/present.hpp"
#include "property.hpp"
#include "store/redis/redis.hpp"

namespace {

using store::CallLimit;

/// Sends `words` to the client that connects, reads to the end, and hangs up. Only the request runs
/// meanwhile.
class Server {
 public:
  Server() : door_{::socket(AF_INET, SOCK_STREAM, 0)} {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* where = reinterpret_cast<sockaddr*>(&address);
    fuzz::promise(::bind(door_, where, length) == 0 && ::listen(door_, 64) == 0, "a server");
    ::getsockname(door_, where, &length);
    port_ = std::to_string(ntohs(address.sin_port));
    std::thread{[this] { serve(); }}.detach();
  }

  [[nodiscard]] const std::string& port() const { return port_; }
  void says(std::string words) {
    const std::lock_guard guard{mutex_};
    words_ = std::move(words);
  }

 private:
  std::string words() {
    const std::lock_guard guard{mutex_};
    return words_;
  }

  void serve() {
    std::array<char, 4096> question{};
    for (;;) {
      const int client = ::accept(door_, nullptr, nullptr);
      if (client < 0) continue;
      (void)!::recv(client, question.data(), question.size(), 0);
      const std::string said = words();
      (void)!::send(client, said.data(), said.size(), MSG_NOSIGNAL);
      ::shutdown(client, SHUT_WR);
      while (::recv(client, question.data(), question.size(), 0) > 0) {
      }
      ::close(client);
    }
  }

  int door_;
  std::string port_;
  std::mutex mutex_;
  std::string words_;
};

std::string only_port;  // of ours

CallLimit soon() {
  return {base::Deadline::after(base::now(), base::Millis{50})};
}

void promise_told(const store::Fault& fault) {
  fuzz::promise(base::is_printable(fault.why) && fault.why.size() < 1000,
                "a fault is clean, short");
}

template <class Answer>
void look_at(Answer answer) {
  if (const auto* fault = store::fault_in(answer)) promise_told(*fault);
}

void ask(int question, const store::RedisServer& server) {
  const auto name = *store::LockName::from("key");
  const auto token = store::Token::foreign("token");
  const auto ttl = *store::Ttl::from(base::Millis{30'000});
  const auto store = store::redis::open_store(server);
  const auto admin = store::redis::open_admin(server);
  const store::Claim claim{name, token, ttl, store::OnBusy::queue};
  switch (question) {
    case 0: look_at(store->try_acquire(claim, soon())); break;
    case 1: look_at(store->renew(name, token, ttl, soon())); break;
    case 2: look_at(store->release(name, token, {}, soon())); break;
    case 3: look_at(store->check(name, token, soon())); break;
    case 4: {
      const auto answer = admin->inspect(name, soon());
      look_at(answer);
      if (answer) fuzz::promise_clean(cmd::as_table(*answer), "a table is clean");
      break;
    }
    case 5: look_at(admin->list("*", store::Listed::remembered, store::Millis{200}, soon())); break;
    case 6: look_at(admin->force_release(name, {token}, "me", soon())); break;
    default:
      for (const auto& finding : store::redis::examine(server, name, soon())) {
        fuzz::promise(base::is_printable(finding.seen), "a finding is clean");
      }
  }
}

}  // namespace

// In place of the C library's: route may name any host of the world, and none of them is
// asked.
extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* /*hints*/,
                           addrinfo** list) {
  if (std::string_view{host} != "127.0.0.1" || port != only_port) return EAI_NONAME;
  auto* address = new sockaddr_in{};
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address->sin_port = htons(static_cast<std::uint16_t>(std::stoi(only_port)));
  *list = new addrinfo{};
  (*list)->ai_family = AF_INET;
  (*list)->ai_addr = reinterpret_cast<sockaddr*>(address);
  (*list)->ai_addrlen = sizeof *address;
  return 0;
}

extern "C" void freeaddrinfo(addrinfo* list) {
  delete reinterpret_cast<sockaddr_in*>(list->ai_addr);
  delete list;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Server there;
  only_port = there.port();
  if (size == 0) return 0;
  there.says(std::string{fuzz::text_of(data + 1, size - 1)});
  const store::HostPort where{"127.0.0.1", there.port()};
  store::RedisServer server{store::RedisServer::Nodes{where}, {}};
  if ((data[0] & 0x80) != 0) server.where = store::RedisServer::Sentinels{{where}, "main", {}};
  ask(data[0] % 8, server);
  return 0;
}
