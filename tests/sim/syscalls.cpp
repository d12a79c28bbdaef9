// In the place of the C library's calls that wait, connect, ask for the time or for chance: the
// linker gives each call of X to __wrap_X, in the code of src/ and of hiredis (--wrap=X in
// CMakeLists.txt). A number that the kernel gave goes on to the kernel.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <pthread.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <deque>
#include <limits>

#include "world.hpp"

// NOLINTBEGIN: these names are the linker's
using sim::World;

namespace sim {
namespace {

constexpr Nanos second = 1'000'000'000;
constexpr Nanos forever = std::numeric_limits<Nanos>::max();

Nanos nanos(const timespec& time) {
  return time.tv_sec * second + time.tv_nsec;
}

template <typename Type>
Type* get(int number) {
  World* world = World::current();
  Descriptor* found = world == nullptr ? nullptr : world->find(number);
  return found != nullptr && found->kind() == Type::own ? static_cast<Type*>(found) : nullptr;
}

struct Counter final : Descriptor {
  static constexpr Kind own = Kind::counter;
  Counter() : Descriptor{own} {}
  std::uint64_t count = 0;
  bool is_readable(const World&) const override { return count > 0; }
};

struct Alarm final : Descriptor {
  static constexpr Kind own = Kind::alarm;
  Alarm() : Descriptor{own} {}
  Nanos at = forever;
  bool is_readable(const World& world) const override { return world.now() >= at; }
};

struct Several final : Descriptor {
  static constexpr Kind own = Kind::several;
  Several() : Descriptor{own} {}
  std::vector<int> members;
  bool is_readable(const World& world) const override {
    return std::any_of(members.begin(), members.end(), [&](int each) {
      const Descriptor* found = world.find(each);
      return found != nullptr && found->is_readable(world);
    });
  }
};

struct Signals final : Descriptor {
  static constexpr Kind own = Kind::signals;
  explicit Signals(const Process& whose) : Descriptor{own}, process{whose} {}
  const Process& process;
  std::deque<int> waiting;
  bool is_readable(const World&) const override { return !waiting.empty(); }
};

struct Socket final : Descriptor {
  static constexpr Kind own = Kind::socket;
  Socket() : Descriptor{own} {}
  std::shared_ptr<Connection> connection;
  ~Socket() override {
    if (connection && World::current() != nullptr) World::current()->hang_up(connection);
  }
  bool is_readable(const World&) const override {
    return connection && (!connection->inbox.empty() || connection->ended);
  }
  bool is_writable(const World&) const override {
    return connection && (connection->established || connection->ended);
  }
};

int failed(int error) {
  errno = error;
  return -1;
}

int look(pollfd* fds, nfds_t count, const World& world) {
  int ready = 0;
  for (nfds_t i = 0; i < count; ++i) {
    fds[i].revents = 0;
    const Descriptor* found = fds[i].fd < 0 ? nullptr : world.find(fds[i].fd);
    if (found == nullptr) continue;
    if ((fds[i].events & POLLIN) != 0 && found->is_readable(world)) fds[i].revents |= POLLIN;
    if ((fds[i].events & POLLRDHUP) != 0 && found->kind() == Descriptor::Kind::socket &&
        static_cast<const Socket*>(found)->connection->ended) {
      fds[i].revents |= POLLRDHUP;
    }
    if ((fds[i].events & POLLOUT) != 0 && found->is_writable(world)) fds[i].revents |= POLLOUT;
    ready += fds[i].revents != 0 ? 1 : 0;
  }
  return ready;
}

/// The earliest alarm among those that are polled: nobody else says when it has come.
Nanos soonest_alarm(const pollfd* fds, nfds_t count) {
  Nanos soonest = forever;
  for (nfds_t i = 0; i < count; ++i) {
    if (const auto* alarm = get<Alarm>(fds[i].fd)) soonest = std::min(soonest, alarm->at);
  }
  return soonest;
}

int poll_in(World& world, pollfd* fds, nfds_t count, Nanos until) {
  int ready = look(fds, count, world);
  while (ready == 0 && world.now() < until) {
    const Nanos alarm = soonest_alarm(fds, count);
    world.wait(std::min(until, alarm), [&] { return look(fds, count, world) > 0; });
    ready = look(fds, count, world);
  }
  return ready;
}

}  // namespace
}  // namespace sim

extern "C" {

int __real_clock_gettime(clockid_t clock, timespec* time);
int __real_ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask);
int __real_socket(int family, int type, int protocol);
int __real_connect(int fd, const sockaddr* address, socklen_t size);
int __real_getsockopt(int fd, int level, int name, void* value, socklen_t* size);
ssize_t __real_recv(int fd, void* buffer, size_t size, int flags);
ssize_t __real_send(int fd, const void* buffer, size_t size, int flags);
ssize_t __real_read(int fd, void* buffer, size_t size);
int __real_close(int fd);
int __real_epoll_create1(int flags);
int __real_epoll_ctl(int epoll, int act, int fd, epoll_event* event);
int __real_timerfd_create(clockid_t clock, int flags);
int __real_timerfd_settime(int fd, int flags, const itimerspec* time, itimerspec* before);
int __real_eventfd(unsigned count, int flags);
int __real_eventfd_read(int fd, eventfd_t* count);
int __real_eventfd_write(int fd, eventfd_t count);
ssize_t __real_getrandom(void* buffer, size_t size, unsigned flags);
int __real_signalfd(int fd, const sigset_t* mask, int flags);
int __real_sigprocmask(int how, const sigset_t* set, sigset_t* before);
pid_t __real_getpid();
int __real_sigaction(int number, const struct sigaction* action, struct sigaction* before);
int __real_gethostname(char* name, size_t size);

int __wrap_clock_gettime(clockid_t clock, timespec* time) {
  World* world = World::current();
  const bool known = clock == CLOCK_BOOTTIME || clock == CLOCK_REALTIME;
  if (world == nullptr || !known) return __real_clock_gettime(clock, time);
  const auto now = clock == CLOCK_BOOTTIME ? world->machine_time() : world->wall_time();
  *time = {now / sim::second, now % sim::second};
  return 0;
}

int __wrap_ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  World* world = World::current();
  if (world == nullptr) return __real_ppoll(fds, count, timeout, mask);
  const auto now = world->now();
  return sim::poll_in(*world, fds, count,
                      timeout == nullptr ? sim::forever : now + sim::nanos(*timeout));
}
int __wrap___ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask,
                       size_t) {
  return __wrap_ppoll(fds, count, timeout, mask);
}

int __wrap_socket(int family, int type, int protocol) {
  World* world = World::current();
  if (world == nullptr) return __real_socket(family, type, protocol);
  return world->add(std::make_shared<sim::Socket>());
}

int __wrap_connect(int fd, const sockaddr* address, socklen_t size) {
  auto* socket = sim::get<sim::Socket>(fd);
  if (!socket) return __real_connect(fd, address, size);
  sockaddr_un path{};
  std::memcpy(&path, address, std::min<size_t>(size, sizeof path));
  socket->connection = World::current()->connect(path.sun_path);
  return sim::failed(socket->connection ? EINPROGRESS : ECONNREFUSED);
}

int __wrap_getsockopt(int fd, int level, int name, void* value, socklen_t* size) {
  if (!sim::get<sim::Socket>(fd)) return __real_getsockopt(fd, level, name, value, size);
  std::memset(value, 0, *size);
  return 0;
}

ssize_t __wrap_recv(int fd, void* buffer, size_t size, int flags) {
  const auto* socket = sim::get<sim::Socket>(fd);
  if (!socket) return __real_recv(fd, buffer, size, flags);
  auto& inbox = socket->connection->inbox;
  if (inbox.empty()) return socket->connection->ended ? 0 : sim::failed(EAGAIN);
  const auto count = std::min(size, inbox.size());
  std::memcpy(buffer, inbox.data(), count);
  inbox.erase(0, count);
  return static_cast<ssize_t>(count);
}
ssize_t __wrap___recv_chk(int fd, void* buffer, size_t size, size_t, int flags) {
  return __wrap_recv(fd, buffer, size, flags);
}

ssize_t __wrap_send(int fd, const void* buffer, size_t size, int flags) {
  const auto* socket = sim::get<sim::Socket>(fd);
  if (!socket) return __real_send(fd, buffer, size, flags);
  if (socket->connection->ended) return sim::failed(EPIPE);
  World::current()->send(socket->connection, {static_cast<const char*>(buffer), size});
  return static_cast<ssize_t>(size);
}

ssize_t __wrap_read(int fd, void* buffer, size_t size) {
  if (auto* signals = sim::get<sim::Signals>(fd)) {
    if (signals->waiting.empty()) return sim::failed(EAGAIN);
    signalfd_siginfo info{};
    info.ssi_signo = static_cast<std::uint32_t>(signals->waiting.front());
    signals->waiting.pop_front();
    std::memcpy(buffer, &info, std::min(size, sizeof info));
    return static_cast<ssize_t>(sizeof info);
  }
  return __real_read(fd, buffer, size);
}
ssize_t __wrap___read_chk(int fd, void* buffer, size_t size, size_t) {
  return __wrap_read(fd, buffer, size);
}

int __wrap_close(int fd) {
  World* world = World::current();
  if (fd < World::first_descriptor) return __real_close(fd);
  if (world != nullptr) world->close(fd);
  return 0;
}

int __wrap_epoll_create1(int flags) {
  World* world = World::current();
  return world == nullptr ? __real_epoll_create1(flags)
                          : world->add(std::make_shared<sim::Several>());
}

int __wrap_epoll_ctl(int epoll, int act, int fd, epoll_event* event) {
  auto* several = sim::get<sim::Several>(epoll);
  if (!several) return __real_epoll_ctl(epoll, act, fd, event);
  if (act == EPOLL_CTL_ADD) several->members.push_back(fd);
  return 0;
}

int __wrap_timerfd_create(clockid_t clock, int flags) {
  World* world = World::current();
  return world == nullptr ? __real_timerfd_create(clock, flags)
                          : world->add(std::make_shared<sim::Alarm>());
}

int __wrap_timerfd_settime(int fd, int flags, const itimerspec* time, itimerspec* before) {
  auto* alarm = sim::get<sim::Alarm>(fd);
  if (!alarm) return __real_timerfd_settime(fd, flags, time, before);
  const auto at = sim::nanos(time->it_value);
  alarm->at =
      at == 0 ? sim::forever : World::current()->now() + at - World::current()->machine_time();
  World::current()->changed();
  return 0;
}

int __wrap_eventfd(unsigned count, int flags) {
  World* world = World::current();
  if (world == nullptr) return __real_eventfd(count, flags);
  auto counter = std::make_shared<sim::Counter>();
  counter->count = count;
  return world->add(std::move(counter));
}

int __wrap_eventfd_write(int fd, eventfd_t count) {
  auto* counter = sim::get<sim::Counter>(fd);
  if (!counter) return __real_eventfd_write(fd, count);
  counter->count += count;
  World::current()->changed();
  return 0;
}

int __wrap_eventfd_read(int fd, eventfd_t* count) {
  auto* counter = sim::get<sim::Counter>(fd);
  if (!counter) return __real_eventfd_read(fd, count);
  if (counter->count == 0) return sim::failed(EAGAIN);
  *count = std::exchange(counter->count, 0);
  return 0;
}

ssize_t __wrap_getrandom(void* buffer, size_t size, unsigned flags) {
  World* world = World::current();
  if (world == nullptr) return __real_getrandom(buffer, size, flags);
  world->fill_randomly(static_cast<unsigned char*>(buffer), size);
  return static_cast<ssize_t>(size);
}

int __wrap_signalfd(int fd, const sigset_t* mask, int flags) {
  World* world = World::current();
  return world == nullptr
             ? __real_signalfd(fd, mask, flags)
             : world->add(std::make_shared<sim::Signals>(world->scheduler().running()->process()));
}

int __wrap_sigprocmask(int how, const sigset_t* set, sigset_t* before) {
  if (World::current() == nullptr) return __real_sigprocmask(how, set, before);
  if (before != nullptr) sigemptyset(before);
  return 0;
}

int __wrap_sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  if (World::current() == nullptr) return __real_sigaction(number, action, before);
  if (before != nullptr) *before = {};
  return 0;
}

pid_t __wrap_getpid() {
  World* world = World::current();
  const auto* fiber = world == nullptr ? nullptr : world->scheduler().running();
  return fiber == nullptr ? __real_getpid() : fiber->process().number;
}

int __wrap_gethostname(char* name, size_t size) {
  if (World::current() == nullptr) return __real_gethostname(name, size);
  std::strncpy(name, "host", size);
  return 0;
}

// ---- threads: more fibers of a process ----------------------------------------------------------

int __real_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                          void* argument);
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                          void* argument) {
  World* world = World::current();
  if (world == nullptr) return __real_pthread_create(thread, attributes, body, argument);
  auto& scheduler = world->scheduler();
  const sim::Fiber* fiber =
      &scheduler.spawn(scheduler.running()->process(), [body, argument] { body(argument); });
  static_assert(sizeof(*thread) == sizeof fiber);
  std::memcpy(thread, &fiber, sizeof fiber);
  return 0;
}

int __real_pthread_join(pthread_t thread, void** result);
int __wrap_pthread_join(pthread_t thread, void** result) {
  World* world = World::current();
  if (world == nullptr) return __real_pthread_join(thread, result);
  const sim::Fiber* fiber = nullptr;
  std::memcpy(&fiber, &thread, sizeof fiber);
  world->wait(sim::forever, [&] { return fiber->is_over(); });
  return 0;
}

int __real_pthread_detach(pthread_t thread);
int __wrap_pthread_detach(pthread_t thread) {
  return World::current() == nullptr ? __real_pthread_detach(thread) : 0;
}

}  // extern "C"
// NOLINTEND

namespace sim {

void World::signal(const Process& process, int number) {
  for (const Open& each : descriptors_) {
    if (!each.descriptor || each.process != &process) continue;
    if (each.descriptor->kind() == Descriptor::Kind::signals) {
      static_cast<Signals&>(*each.descriptor).waiting.push_back(number);
    }
  }
  changed();
}

}  // namespace sim
