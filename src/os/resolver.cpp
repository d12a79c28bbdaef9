#include "os/resolver.hpp"

#include <system_error>
#include <thread>

#include "os/check.hpp"
#include "os/mailbox.hpp"

namespace os {
namespace {

using Resolved = std::variant<Addresses, NotResolved>;

Resolved look_up(const std::string& host, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* list = nullptr;
  if (const int rc = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list); rc != 0) {
    return NotResolved{rc == EAI_SYSTEM ? describe(errno) : ::gai_strerror(rc)};
  }
  return Addresses{list, &::freeaddrinfo};
}

}  // namespace

Resolved resolve(const std::string& host, const std::string& port, const CallLimit& limit) {
  auto given = look_up(host, port, AI_NUMERICHOST);
  if (std::holds_alternative<Addresses>(given)) return given;

  // The thread's, too, for as long as it takes.
  const auto answer = std::make_shared<Mailbox<Resolved>>();
  try {
    std::thread{[answer, host, port] { answer->post(look_up(host, port, 0)); }}.detach();
  } catch (const std::system_error& error) {
    return NotResolved{error.what()};
  }
  switch (wait_for(answer->descriptor(), Want::read, limit)) {
    case Ready::timed_out: return NotResolved{"no answer from the name servers"};
    case Ready::interrupted: return NotResolved{"interrupted"};
    case Ready::yes: break;
  }
  return *answer->take();
}

}  // namespace os
