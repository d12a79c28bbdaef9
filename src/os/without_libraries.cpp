// Replaces with_libraries.cpp in a static program.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <netinet/in.h>
#include <nss.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/text.hpp"
#include "os/core_limit.hpp"
#include "os/fd.hpp"
#include "os/file.hpp"
#include "os/host.hpp"
#include "os/libraries.hpp"
#include "os/name_files.hpp"
#include "os/objection.hpp"
#include "os/places.hpp"
#include "os/resolve.hpp"

namespace os {
namespace {

const std::vector<std::string>* words_given = nullptr;

// ---- the other program ----------------------------------------------------------------------

/// The path of the running file, with links resolved.
std::string own_path() {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size > 0) return {path.data(), static_cast<std::size_t>(size)};
  // Without /proc: as passed to execve(2); nothing has changed the directory yet.
  const auto* const told = std::bit_cast<const char*>(::getauxval(AT_EXECFN));
  const bool found = told != nullptr && ::realpath(told, path.data()) != nullptr;
  return found ? path.data() : "";
}

std::string quoted(const std::string& path) {
  return "'" + base::printable(path) + "'";
}

/// The users, besides root and us, who may exchange this program.
struct Exchangers {
  uid_t owner;
  gid_t group;  // the group that may write to its directory, as "staff" on old Debian systems; else
                // root's
};

Exchangers exchangers_of(const struct stat& program, const std::string& path) {
  struct stat directory {};
  const bool is_groups = ::stat(directory_of(path).c_str(), &directory) == 0 &&
                         (directory.st_mode & S_IWGRP) != 0 && (directory.st_mode & S_ISVTX) == 0;
  return {program.st_uid, is_groups ? directory.st_gid : 0};
}

/// Accepts each step of the way, and its target, only from users who may exchange this program
/// itself: in /tmp anybody could make a directory or a link of that name.
std::optional<Error> refuse_others_work(const struct stat& status, const std::string& path,
                                        const Exchangers& own) {
  const bool is_owned = is_ours_or_roots(status) || status.st_uid == own.owner;
  // In a sticky directory others can make names; the next step shows their owner.
  const bool is_sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  const bool is_known = status.st_gid == 0 || status.st_gid == own.group;
  const mode_t write = is_known ? mode_t{S_IWOTH} : others_write;
  const bool is_open = !S_ISLNK(status.st_mode) && (status.st_mode & write) != 0 && !is_sticky;
  if (!is_owned) {
    const auto mend = mend_owner(status.st_uid, "");
    return object("{} is not used: others may have put it there{}{}", quoted(path),
                  mend.empty() ? "" : ": ", mend);
  }
  if (is_open) {
    return object("{} is not used: others may have put it there; to mend that: chmod go-w {}",
                  quoted(path), to_type(path));
  }
  return std::nullopt;
}

/// Whether the file has a loader. This program has none, so it cannot execute itself again and
/// again.
bool has_loader(const Fd& file) {
  ElfW(Ehdr) header{};
  if (::pread(file.number(), &header, sizeof header, 0) != sizeof header) return false;
  if (!std::equal(header.e_ident, header.e_ident + SELFMAG, ELFMAG)) return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    const auto at = static_cast<off_t>(header.e_phoff + i * sizeof segment);
    if (::pread(file.number(), &segment, sizeof segment, at) != sizeof segment) return false;
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

/// The other program: this very file was checked, whatever its path leads to by now.
struct Program {
  Fd file;
  std::string path;
};

Result<Program> examine(const std::string& path, const Exchangers& own) {
  const auto rule = [&](const struct stat& status, const std::string& step) {
    return refuse_others_work(status, step, own);
  };
  const auto place = resolve(path, Missing::give_up, rule);
  if (!place) {
    auto error = place.error();
    if (error.number != 0) error.what = "reading " + quoted(path);
    return error;
  }
  Program program{place->open(O_RDONLY | O_NONBLOCK), path};
  struct stat status {};
  if (!program.file || ::fstat(program.file.number(), &status) != 0) {
    return last_error("reading " + quoted(path));
  }
  if (auto objection = rule(status, path)) return *objection;
  if (!S_ISREG(status.st_mode) || !has_loader(program.file)) {
    return Error{0, fmt::format("{} is not rlock's program for that", quoted(path))};
  }
  return program;
}

/// The program, or why it cannot be used.
Result<Program> other_program() {
  const std::string self = own_path();
  struct stat own {};
  if (self.empty()) return Error{0, "without /proc rlock cannot tell where it is installed"};
  if (::stat("/proc/self/exe", &own) != 0 && ::stat(self.c_str(), &own) != 0) {
    return last_error(quoted(self));
  }
  const auto exchangers = exchangers_of(own, self);
  std::string places;
  for (const char* const place : {place_beside, place_installed}) {
    const std::string path = directory_of(self) + place;
    auto examined = examine(path, exchangers);
    if (examined) return examined;
    const int number = examined.error().number;
    if (number != ENOENT && number != ENOTDIR) return examined.error();
    places += (places.empty() ? "" : " nor ") + quoted(path);
  }
  return Error{0, fmt::format("there is neither {}; install that beside this program", places)};
}

/// Executes the open file; returns only on failure.
void execute(const Fd& file, char* const* words) {
  ::execveat(file.number(), "", words, environ, AT_EMPTY_PATH);
  if (errno == ENOENT) {
    // An emulator of this processor reopens the file by the descriptor's name, so it has to stay
    // open.
    (void)::fcntl(file.number(), F_SETFD, 0);
    ::execveat(file.number(), "", words, environ, AT_EMPTY_PATH);
    return;
  }
  // Sandboxes refuse unknown calls.
  if (errno != ENOSYS && errno != EPERM) return;
  const int refused = errno;
  ::execve(fmt::format("/proc/self/fd/{}", file.number()).c_str(), words, environ);
  if (errno == ENOENT) errno = refused;
}

// ---- names ----------------------------------------------------------------------------------

std::string contents_or_nothing(const char* path) {
  return contents_of(path).value_or({});
}

NameServices services(std::string_view database, std::initializer_list<std::string_view> built_in) {
  return services_in(contents_or_nothing("/etc/nsswitch.conf"), database, built_in);
}

NameServices host_services() {
  return services("hosts", {"files", "dns"});
}

bool is_address(const std::string& host) {
  in6_addr ignored{};
  return ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 || host.find(':') != std::string::npos;
}

bool hosts_may_want_plugins(const std::vector<std::string>& hosts) {
  const auto is_name = [](const std::string& host) { return !is_address(host); };
  if (std::none_of(hosts.begin(), hosts.end(), is_name)) return false;
  if (host_services().plugins.empty()) return false;
  const std::string known = contents_or_nothing("/etc/hosts");
  return std::any_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
    return is_name(host) && !is_in_hosts(known, host);
  });
}

}  // namespace

bool loads_libraries() {
  return false;
}

void keep_command_line(const std::vector<std::string>& words) {
  words_given = &words;
}

Error become_other_program() {
  const auto program = other_program();
  if (!program) return program.error();
  std::vector<char*> words{program_invocation_name};
  if (words_given != nullptr) {
    // execve(2) does not write to them.
    for (const auto& word : *words_given) words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  give_core_back();
  execute(program->file, words.data());
  const int error = errno;
  forbid_core();
  errno = error;
  // If the file exists and is not found, its loader is missing.
  if (errno == ENOENT) {
    return Error{
        0, fmt::format("running {} takes glibc, whose loader is not here", quoted(program->path))};
  }
  return last_error("running " + quoted(program->path));
}

bool plugins_may_be_asked(const std::vector<std::string>& hosts) {
  if (hosts_may_want_plugins(hosts)) return true;
  return !user_name_in_files() && !services("passwd", {"files"}).plugins.empty();
}

std::string leave_plugins_out() {
  static const std::string left_out = [] {
    const NameServices found = host_services();
    if (found.plugins.empty()) return std::string{};
    const char* const kept = found.built_in.empty() ? "files dns" : found.built_in.c_str();
    ::__nss_configure_lookup("hosts", kept);
    const auto program = other_program();
    return fmt::format("; '{}' of /etc/nsswitch.conf was not asked: {}", found.plugins,
                       program ? quoted(program->path) + " can" : program.error().text());
  }();
  return left_out;
}

std::optional<std::string> user_by_plugin() {
  return std::nullopt;
}

}  // namespace os
