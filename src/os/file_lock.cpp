#include "os/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>

#include "os/check.hpp"

namespace os {
namespace {

// Between tries: it is held for about as long as one takes.
constexpr base::Millis pause{1};

bool still_at(const std::string& path, const Fd& fd) {
  struct stat ours {};
  struct stat there {};
  return ::fstat(fd.number(), &ours) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

}  // namespace

std::optional<LockedFile> LockedFile::open(const std::string& path, Missing missing,
                                           const Patience& patience) {
  const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (missing == Missing::create ? O_CREAT : 0);
  for (;;) {
    Fd fd{::open(path.c_str(), flags, 0666)};
    if (!fd) return std::nullopt;
    if (::flock(fd.number(), LOCK_EX | LOCK_NB) == 0) {
      if (still_at(path, fd)) return LockedFile{std::move(fd)};
      continue;  // removed before we had it, and perhaps made anew
    }
    if (errno != EWOULDBLOCK && errno != EINTR) return std::nullopt;
    if (patience.until.passed(base::now())) {
      errno = EAGAIN;
      return std::nullopt;
    }
    wait_any({}, base::Deadline::after(base::now(), pause));
  }
}

std::string LockedFile::text() const {
  std::array<char, 256> buffer{};
  const auto got = ::pread(fd_.number(), buffer.data(), buffer.size(), 0);
  return {buffer.data(), static_cast<std::size_t>(check(got, "reading a lock's file"))};
}

void LockedFile::overwrite(const std::string& text) const {
  check(::pwrite(fd_.number(), text.data(), text.size(), 0), "writing a lock's file");
}

}  // namespace os
