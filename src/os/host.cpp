#include "os/host.hpp"

#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/text.hpp"
#include "os/directory.hpp"
#include "os/error.hpp"
#include "os/file.hpp"
#include "os/libraries.hpp"
#include "os/name_files.hpp"

namespace os {
namespace {

void fill_randomly(void* buffer, std::size_t size) {
  // Up to 256 bytes arrive whole or not at all (getrandom(2)); no caller asks for more.
  if (::getrandom(buffer, size, 0) != static_cast<ssize_t>(size)) fail("asking for random bytes");
}

}  // namespace

std::optional<std::string> user_name_in_files() {
  // The environment first: with ten thousand users the file is long.
  for (const char* variable : {"LOGNAME", "USER"}) {
    const char* value = std::getenv(variable);
    // A newline in it would cut the messages that name us.
    if (value != nullptr && *value != '\0' && base::is_printable(value)) return value;
  }
  const auto text = contents_of("/etc/passwd");
  return text ? user_in_passwd(*text, ::geteuid()) : std::nullopt;
}

std::string user_name() {
  // The C library takes four times as long, and may ask a service in the network.
  auto name = user_name_in_files();
  if (!name) name = user_by_plugin();
  return name ? *name : "uid" + std::to_string(::geteuid());
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

int process_id() {
  return ::getpid();
}

std::string user_number() {
  return std::to_string(::geteuid());
}

std::string shared_runtime_directory() {
  constexpr auto usual = "/run/lock";
  return ::access(usual, W_OK | X_OK) == 0 ? usual : "/tmp";
}

std::optional<OwnRuntimeDirectory> own_runtime_directory() {
  // Not the variable: cron does not set it, so a job would not meet the same user's shell.
  const bool is_root = ::geteuid() == 0;
  const std::string path = is_root ? "/run" : "/run/user/" + user_number();
  const bool is_ours = is_private_directory(path).value_or(false);
  if (!is_ours || ::access(path.c_str(), W_OK | X_OK) != 0) return std::nullopt;
  return OwnRuntimeDirectory{path, is_root};
}

std::vector<std::string_view> environment() {
  std::vector<std::string_view> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

std::size_t descriptor_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> raw(bytes);
  fill_randomly(raw.data(), raw.size());
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : raw) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::int64_t random_between(std::int64_t low, std::int64_t high) {
  std::uint64_t raw = 0;
  fill_randomly(&raw, sizeof raw);
  return low + static_cast<std::int64_t>(raw % static_cast<std::uint64_t>(high - low + 1));
}

}  // namespace os
