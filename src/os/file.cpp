#include "os/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "os/fd.hpp"

namespace os {

bool is_readable_file(const std::string& path) {
  return ::access(path.c_str(), R_OK) == 0;
}

std::optional<std::string> first_line_of(const std::string& path) {
  const Fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return std::nullopt;
  std::string line;
  std::array<char, 512> piece{};
  for (;;) {
    const ssize_t size = ::read(file.number(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::nullopt;
    const std::string_view text{piece.data(), static_cast<std::size_t>(size)};
    const auto end = text.find('\n');
    line += text.substr(0, end);
    if (size == 0 || end != std::string_view::npos) break;
  }
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

}  // namespace os
