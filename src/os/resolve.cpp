#include "os/resolve.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <vector>

#include "os/objection.hpp"

namespace os {
namespace {

constexpr int most_links = 40;  // the kernel's own limit
// Another process may remove what we make as often as we make it.
constexpr int most_made = 1'000;
constexpr int just_look = O_PATH | O_CLOEXEC;

bool is_procfs(const Fd& directory) {
  struct statfs system {};
  return ::fstatfs(directory.number(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

Result<std::string> target_of(const Fd& link) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlinkat(link.number(), "", target.data(), target.size());
  if (size < 0) return last_error();
  return std::string{target.data(), static_cast<std::size_t>(size)};
}

/// One walk from the beginning of a path to its last name.
class Walk {
 public:
  Walk(const std::string& path, Missing missing, const Rule& rule)
      : missing_{missing}, rule_{rule} {
    begin_at(path);
  }

  Result<Location> run() {
    for (;;) {
      if (!here_) return last_error();
      const auto name = next_name();
      if (name == ".") return arrived(name);
      if (name == "..") {
        auto entered = enter(Fd{::openat(here_.number(), "..", just_look)}, "..");
        if (!entered) return std::move(entered).error();
        continue;
      }
      Fd there{::openat(here_.number(), name.c_str(), just_look | O_NOFOLLOW)};
      if (!there) {
        if (errno == ENOENT && is_last()) {
          is_magic_ = is_procfs(here_);
          return arrived(name);
        }
        if (errno != ENOENT || missing_ == Missing::give_up) return last_error();
        if (auto made = make(name); !made) return std::move(made).error();
        continue;
      }
      struct stat status {};
      // A new one each time round; the analyzer does not see that.
      // NOLINTNEXTLINE(clang-analyzer-cplusplus.Move)
      if (::fstat(there.number(), &status) != 0) return last_error();
      if (auto objection = rule_(status, where_ + name)) return *std::move(objection);
      const bool is_link = S_ISLNK(status.st_mode);
      if (!is_link && is_last()) return arrived(name);
      auto stepped = is_link ? follow(there, name) : enter(std::move(there), name);
      if (!stepped) return std::move(stepped).error();
      if (is_magic_) return arrived(name);
    }
  }

 private:
  void begin_at(const std::string& path) {
    const bool from_root = !path.empty() && path.front() == '/';
    if (from_root || !here_) {
      here_ = Fd{::open(from_root ? "/" : ".", just_look | O_DIRECTORY)};
      where_ = from_root ? "/" : "";
    }
    // The last name is used up first, hence this order.
    std::string name;
    std::vector<std::string> names;
    for (const char c : path) {
      if (c != '/')
        name += c;
      else if (!name.empty() && name != ".")
        names.push_back(std::exchange(name, {}));
      else
        name.clear();
    }
    // "a/" and "a/." are the directory itself.
    names.push_back(name.empty() ? "." : name);
    if (name == "..") names.emplace_back(".");
    if (!todo_.empty() && names.back() == ".") names.pop_back();
    todo_.insert(todo_.end(), names.rbegin(), names.rend());
  }

  std::string next_name() {
    auto name = std::move(todo_.back());
    todo_.pop_back();
    return name;
  }
  [[nodiscard]] bool is_last() const { return todo_.empty(); }

  Result<Done> enter(Fd there, const std::string& name) {
    if (!there) return last_error();
    here_ = std::move(there);
    where_ += name + "/";
    return Done{};
  }

  Result<Done> follow(const Fd& link, const std::string& name) {
    if (++links_ > most_links) return Error{ELOOP, {}};
    if (is_procfs(here_)) {
      is_magic_ = is_last();
      if (is_magic_) return Done{};
      return enter(Fd{::openat(here_.number(), name.c_str(), just_look)}, name);
    }
    const auto target = target_of(link);
    if (!target) return target.error();
    if (target->empty()) return Error{ENOENT, {}};
    begin_at(*target);
    return Done{};
  }

  Result<Done> make(const std::string& name) {
    if (++made_ > most_made) return Error{ENOENT, {}};
    if (auto made = make_private(here_, name); !made && made.error().number != EEXIST) return made;
    todo_.push_back(name);
    return Done{};
  }

  Location arrived(const std::string& name) {
    return {std::move(here_), name, where_ + (name == "." ? "" : name), is_magic_};
  }

  Missing missing_;
  const Rule& rule_;
  Fd here_;
  std::string where_;
  std::vector<std::string> todo_;  // the next name is the last one
  int links_ = 0;
  int made_ = 0;
  bool is_magic_ = false;
};

}  // namespace

Fd Location::open(int flags) const {
  const int follow = is_magic ? 0 : O_NOFOLLOW;
  return Fd{::openat(directory.number(), name.c_str(), flags | follow | O_CLOEXEC)};
}

Result<struct stat> Location::status() const {
  struct stat status {};
  const int flags = is_magic ? 0 : AT_SYMLINK_NOFOLLOW;
  if (::fstatat(directory.number(), name.c_str(), &status, flags) != 0) return last_error();
  return status;
}

Result<Done> make_private(const Fd& directory, const std::string& name) {
  if (::mkdirat(directory.number(), name.c_str(), ours_alone) != 0) return last_error();
  // Some masks take our own rights as well. The mask is that of all threads, so it stays; and with
  // O_PATH the directory opens without those rights.
  const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const Fd made{::openat(directory.number(), name.c_str(), flags)};
  struct stat status {};
  if (!made || ::fstat(made.number(), &status) != 0) return last_error();
  if ((status.st_mode & permissions) == ours_alone) return Done{};
  if (status.st_uid != ::geteuid()) return Error{EPERM, {}};
  const std::string itself = "/proc/self/fd/" + std::to_string(made.number());
  if (::chmod(itself.c_str(), ours_alone) == 0) return Done{};
  auto error = last_error();
  ::unlinkat(directory.number(), name.c_str(), AT_REMOVEDIR);
  return error;
}

std::optional<Error> refuse_foreign_link(const struct stat& status, const std::string& path) {
  if (!S_ISLNK(status.st_mode) || is_ours_or_roots(status)) return std::nullopt;
  return object("it is a link that belongs to user {}, not to you or root: {}", status.st_uid,
                mend_owner(status.st_uid, "rm " + to_type(path)));
}

Result<Location> resolve(const std::string& path, Missing directories, const Rule& rule) {
  if (path.empty()) return Error{ENOENT, {}};
  return Walk{path, directories, rule}.run();
}

}  // namespace os
