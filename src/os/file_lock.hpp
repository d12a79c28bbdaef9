// flock(2) on a small file, held for moments.
#pragma once

#include <optional>
#include <string>

#include "os/fd.hpp"
#include "os/poll.hpp"
#include "os/sharing.hpp"

namespace os {

/// The file, created if need be, locked exclusively until this is destroyed; it can be read and
/// overwritten meanwhile. Close-on-exec.
class LockedFile {
 public:
  enum class Missing { create, give_up };

  /// A file that is made is for those of `sharing`. Nothing, with errno set: EAGAIN or EINTR if
  /// limit ended, ENOENT if there is none and none was to be made. Nobody holds it for longer
  /// than some system calls take, unless it was stopped in them.
  static std::optional<LockedFile> open(const std::string& path, Missing missing,
                                        const Sharing& sharing, const CallLimit& limit);

  [[nodiscard]] std::string text() const;
  /// In one write, over what is there: texts of one length replace each other whole.
  void overwrite(const std::string& text) const;

 private:
  explicit LockedFile(Fd fd) : fd_{std::move(fd)} {}
  Fd fd_;
};

}  // namespace os
