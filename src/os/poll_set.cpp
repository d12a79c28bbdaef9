#include "os/poll_set.hpp"

#include <sys/epoll.h>

#include "os/check.hpp"

namespace os {

PollSet::PollSet(const std::vector<int>& fds)
    : fd_{check(::epoll_create1(EPOLL_CLOEXEC), "creating an epoll instance")} {
  for (const int fd : fds) {
    if (fd < 0) continue;
    epoll_event event{};
    event.events = EPOLLIN;
    check(::epoll_ctl(fd_.number(), EPOLL_CTL_ADD, fd, &event), "watching a descriptor");
  }
}

}  // namespace os
