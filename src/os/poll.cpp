#include "os/poll.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>

#include <array>

#include "os/error.hpp"
#include "os/memory.hpp"

namespace os {
namespace {

// Sleep in pieces of this length: ppoll() counts on CLOCK_MONOTONIC, which stops while the machine
// is suspended; our deadlines do not.
constexpr base::Millis longest_sleep{10'000};
// In a long wait, an event within this time is an answer, and the memory is needed for the next
// request.
constexpr base::Millis short_sleep{100};
// If a wait is shorter, restoring memory (a tenth of a millisecond of processor time) costs more
// than it saves: a status line each second, the second in a queue of files.
constexpr base::Millis long_sleep{3'000};

/// To the microsecond: poll(2)'s whole milliseconds would double the cost of a short wait.
timespec timeout_of(base::Deadline until) {
  const auto now = base::now();
  if (until.passed(now)) return {};
  const auto left = std::min<base::Moment::duration>(until.moment() - now, longest_sleep);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {seconds.count(), (left - seconds).count()};
}

bool poll_once(pollfd* fds, nfds_t count, base::Deadline until) {
  const timespec timeout = timeout_of(until);
  const int ready = ::ppoll(fds, count, &timeout, nullptr);
  if (ready < 0 && errno != EINTR) fail("waiting for a descriptor");
  return ready > 0;
}

/// The moment at which a sleep within the limit gives back memory.
base::Deadline sheds_at(const CallLimit& limit) {
  if (limit.long_from.is_never()) return limit.long_from;
  const auto earliest = std::max(limit.long_from, base::Deadline::after(base::now(), short_sleep));
  return limit.until.earlier_by(long_sleep) < earliest ? base::Deadline::never() : earliest;
}

/// Whether a descriptor, the limit's interrupt included, becomes ready within the limit.
bool poll_within(pollfd* fds, nfds_t count, const CallLimit& limit) {
  auto sheds = sheds_at(limit);
  while (!poll_once(fds, count, std::min(limit.until, sheds))) {
    if (limit.until.passed(base::now())) return false;
    if (!sheds.passed(base::now())) continue;
    shed_memory();
    sheds = base::Deadline::never();
  }
  return true;
}

}  // namespace

Ready wait_for(int fd, Want want, const CallLimit& limit) {
  const short events = want == Want::read ? POLLIN : POLLOUT;
  std::array<pollfd, 2> fds{pollfd{fd, events, 0}, pollfd{limit.interrupt, POLLIN, 0}};
  if (!poll_within(fds.data(), fds.size(), limit)) return Ready::timed_out;
  return fds[1].revents != 0 ? Ready::interrupted : Ready::yes;
}

bool is_readable(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return fd >= 0 && poll_once(&polled, 1, base::Deadline::at(base::now()));
}

std::size_t readable_bytes(int fd) {
  int bytes = 0;
  return ::ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

bool ended(const CallLimit& limit) {
  return limit.until.passed(base::now()) || is_readable(limit.interrupt);
}

bool is_hung_up(int socket) {
  pollfd polled{socket, POLLRDHUP, 0};
  return poll_once(&polled, 1, base::Deadline::at(base::now()));
}

void wait_any(const std::vector<int>& fds, base::Deadline until) {
  (void)wait_any(fds, {}, {until});
}

bool wait_any(const std::vector<int>& fds, const std::vector<int>& pipes, const CallLimit& limit) {
  std::vector<pollfd> polled;
  polled.reserve(fds.size() + pipes.size() + 1);
  for (const int fd : pipes) polled.push_back({fd, 0, 0});
  for (const int fd : fds) polled.push_back({fd, POLLIN, 0});
  polled.push_back({limit.interrupt, POLLIN, 0});
  (void)poll_within(polled.data(), polled.size(), limit);
  return std::any_of(polled.begin(), polled.begin() + static_cast<std::ptrdiff_t>(pipes.size()),
                     [](const pollfd& each) { return each.revents != 0; });
}

PollSet::PollSet(const std::vector<int>& fds)
    : fd_{check(::epoll_create1(EPOLL_CLOEXEC), "creating an epoll instance")} {
  for (const int fd : fds) {
    if (fd < 0) continue;
    epoll_event event{};
    event.events = EPOLLIN;
    check(::epoll_ctl(fd_.number(), EPOLL_CTL_ADD, fd, &event), "watching a descriptor");
  }
}

Timer::Timer()
    : fd_{check(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC), "creating a timer")} {}

void Timer::set(base::Deadline deadline) {
  if (deadline == set_) return;
  set_ = deadline;
  itimerspec spec{};
  if (!deadline.is_never()) {
    // A zero time would disarm the timer. The epoch of this clock is the boot, so 1 ns is long
    // past.
    const auto at = std::max(deadline.moment().time_since_epoch(), std::chrono::nanoseconds{1});
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
    spec.it_value.tv_sec = seconds.count();
    spec.it_value.tv_nsec = (at - seconds).count();
  }
  check(timerfd_settime(fd_.number(), TFD_TIMER_ABSTIME, &spec, nullptr), "setting a timer");
}

}  // namespace os
