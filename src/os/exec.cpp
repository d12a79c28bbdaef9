#include "os/exec.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <variant>

#include "os/fd.hpp"

namespace os {
namespace {

// The kernel reads this much of the first line.
constexpr std::size_t longest_first_line = 256;
// A path is no longer.
constexpr std::size_t longest_path = 4096;
// No linker writes more program headers.
constexpr unsigned most_headers = 64;

/// Up to `size` bytes of the file from there.
std::string piece_of(const Fd& file, std::uint64_t from, std::size_t size) {
  std::string text(size, '\0');
  const auto got = ::pread(file.number(), text.data(), size, static_cast<off_t>(from));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

template <class Struct>
std::optional<Struct> at(const Fd& file, std::uint64_t from) {
  Struct value{};
  const auto size = static_cast<ssize_t>(sizeof value);
  if (::pread(file.number(), &value, sizeof value, static_cast<off_t>(from)) != size) {
    return std::nullopt;
  }
  return value;
}

/// The loader that an ELF program names.
template <class Header, class Segment>
std::string loader_of(const Fd& file) {
  const auto header = at<Header>(file, 0);
  if (!header) return "";
  for (unsigned i = 0; i < std::min<unsigned>(header->e_phnum, most_headers); ++i) {
    const auto segment = at<Segment>(file, header->e_phoff + std::uint64_t{i} * sizeof(Segment));
    if (!segment || segment->p_type != PT_INTERP) continue;
    const auto size = std::min<std::uint64_t>(segment->p_filesz, longest_path);
    const std::string path = piece_of(file, segment->p_offset, static_cast<std::size_t>(size));
    return path.substr(0, path.find('\0'));
  }
  return "";
}

/// The interpreter or loader that the file names; empty if it needs none.
std::string interpreter_of(const Fd& file) {
  const std::string begin = piece_of(file, 0, longest_first_line);
  std::string_view line = begin;
  if (line.starts_with("#!")) {
    line = line.substr(0, line.find('\n'));
    line.remove_prefix(std::min(line.find_first_not_of(" \t", 2), line.size()));
    return std::string{line.substr(0, line.find_first_of(" \t"))};
  }
  if (!line.starts_with(ELFMAG) || line.size() <= EI_CLASS) return "";
  return line[EI_CLASS] == ELFCLASS64 ? loader_of<Elf64_Ehdr, Elf64_Phdr>(file)
                                      : loader_of<Elf32_Ehdr, Elf32_Phdr>(file);
}

/// The first file that execvp(3) would try to execute, or why there is none.
std::variant<std::string, int> found_as(const std::string& command) {
  int why = ENOENT;
  const auto may_run = [&](const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
      if (errno == EACCES) why = EACCES;
      return false;
    }
    if (S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0) return true;
    why = EACCES;
    return false;
  };
  if (command.find('/') != std::string::npos) {
    if (may_run(command)) return command;
    return why;
  }
  const char* set = std::getenv("PATH");
  std::string_view path = set != nullptr ? set : "/bin:/usr/bin";
  for (;;) {
    const auto end = path.find(':');
    const auto directory = path.substr(0, end);
    const auto file = directory.empty() ? command : std::string{directory} + "/" + command;
    if (may_run(file)) return file;
    if (end == path.npos) return why;
    path.remove_prefix(end + 1);
  }
}

}  // namespace

std::size_t longest_string_of_program() {
  return 32 * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));  // MAX_ARG_STRLEN
}

std::size_t longest_strings_of_program() {
  constexpr std::size_t at_most = 6 << 20;  // three quarters of the initial stack on Linux
  return std::min(static_cast<std::size_t>(::sysconf(_SC_ARG_MAX)), at_most);
}

int why_not_found(const std::string& command) {
  const auto found = found_as(command);
  const int* why = std::get_if<int>(&found);
  return why != nullptr ? *why : 0;
}

std::optional<std::string> missing_interpreter(const std::string& command) {
  const auto found = found_as(command);
  const auto* path = std::get_if<std::string>(&found);
  if (path == nullptr) return std::nullopt;
  const Fd file{::open(path->c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!file) return std::nullopt;
  auto interpreter = interpreter_of(file);
  if (interpreter.empty() || ::access(interpreter.c_str(), F_OK) == 0) return std::nullopt;
  return errno == ENOENT ? std::optional{std::move(interpreter)} : std::nullopt;
}

}  // namespace os
