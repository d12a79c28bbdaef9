#include "os/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <array>
#include <cerrno>

#include "os/check.hpp"
#include "os/file.hpp"
#include "os/sharing.hpp"

namespace os {
namespace {

// Between tries: about as long as it is held. Who would make it comes as one of perhaps hundreds at
// once, and asks less and less often, so that they leave the processor to the one that has it, and
// the next turn to those who have something to finish.
constexpr base::Millis first_pause{1};
constexpr base::Millis longest_pause{32};

constexpr mode_t private_mode = 0600;

}  // namespace

std::optional<LockedFile> LockedFile::open(const std::string& path, Missing missing,
                                           const Sharing& sharing, const CallLimit& limit) {
  const bool create = missing == Missing::create;
  const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0);
  Fd fd;
  for (auto pause = first_pause;; pause = create ? std::min(pause * 2, longest_pause) : pause) {
    if (!fd) {
      fd = Fd{::open(path.c_str(), flags, private_mode)};
      if (!fd) return std::nullopt;
      if (create) share(fd, sharing);
    }
    if (::flock(fd.number(), LOCK_EX | LOCK_NB) == 0) {
      if (is_at(path, fd)) return LockedFile{std::move(fd)};
      fd = Fd{};  // removed before we had it, and perhaps made anew
      continue;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) return std::nullopt;
    const CallLimit a_while = limit.at_most(base::Deadline::after(base::now(), pause));
    const bool interrupted = wait_for(-1, Want::read, a_while) == Ready::interrupted;
    if (interrupted || limit.until.passed(base::now())) {
      errno = interrupted ? EINTR : EAGAIN;
      return std::nullopt;
    }
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
