#include "os/journal.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "os/fd.hpp"

namespace os {

bool stderr_is_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat found {};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &found) != 0) return false;
  return fmt::format("{}:{}", found.st_dev, found.st_ino) == stream;
}

std::string journal_entry(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string entry;
  for (const auto& [name, value] : fields) {
    entry += name;
    if (value.find('\n') == std::string::npos) {
      entry += '=';
    } else {
      entry += '\n';
      // 64 bits, little endian on every machine.
      for (unsigned shift = 0; shift < 64; shift += 8) {
        entry += static_cast<char>(std::uint64_t{value.size()} >> shift & 0xFF);
      }
    }
    entry += value;
    entry += '\n';
  }
  return entry;
}

bool send_to_journal(std::string_view entry, const char* socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(socket) >= sizeof address.sun_path) return false;
  std::strcpy(address.sun_path, socket);  // NOLINT: it fits
  const Fd line{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  if (line.number() < 0) return false;
  const auto sent = ::sendto(line.number(), entry.data(), entry.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return sent == static_cast<ssize_t>(entry.size());
}

}  // namespace os
