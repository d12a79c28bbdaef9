#include "os/stdio.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "os/error.hpp"

namespace os {
namespace {

/// A pipe or a terminal can be reopened with a mode of our own, unless it belongs to another user.
ssize_t write_to_a_second_one(std::string_view text) {
  const int again = ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (again >= 0) {
    const ssize_t size = ::write(again, text.data(), text.size());
    const int error = errno;
    ::close(again);
    errno = error;
    return size;
  }
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&ready, 1, 0) == 1) return ::write(STDERR_FILENO, text.data(), text.size());
  errno = EAGAIN;
  return -1;
}

}  // namespace

void occupy_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open(2) returns the lowest free number, which is this one. stdout is made read-only, so that
    // writes to it fail instead of being lost silently.
    const int mode = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    if (::open("/dev/null", mode | O_CLOEXEC) < 0) {
      const int error = errno;
      fail(fmt::format("descriptor {} is closed, and opening /dev/null in its place", fd), error);
    }
  }
}

bool stdin_is_terminal() {
  return ::isatty(STDIN_FILENO) == 1;
}

bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

bool stdout_is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}

std::optional<TerminalSize> stdout_size() {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  if (!known || size.ws_col == 0 || size.ws_row == 0) return std::nullopt;
  return TerminalSize{size.ws_row, size.ws_col};
}

std::optional<std::size_t> stderr_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

bool stderr_is_ours() {
  const pid_t foreground = ::tcgetpgrp(STDERR_FILENO);
  return foreground < 0 || foreground == ::getpgrp();
}

std::size_t write_stderr_at_once(std::string_view text) {
  struct stat kind {};
  if (::fstat(STDERR_FILENO, &kind) != 0) return text.size();
  ssize_t size = 0;
  if (S_ISFIFO(kind.st_mode) || S_ISCHR(kind.st_mode)) {
    size = write_to_a_second_one(text);
  } else if (S_ISSOCK(kind.st_mode)) {
    size = ::send(STDERR_FILENO, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } else {
    size = ::write(STDERR_FILENO, text.data(), text.size());  // a file: no reader to wait for
  }
  if (size >= 0) return static_cast<std::size_t>(size);
  return errno == EAGAIN || errno == EINTR ? 0 : text.size();
}

}  // namespace os
