// What a command line is read in: an environment, files, and a stderr of the test's own.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "os/fd.hpp"
#include "os/file.hpp"
#include "os/host.hpp"

namespace unit {

/// A directory for files, which is HOME too, and an environment without the variables of whoever
/// runs the tests; RLOCK_CONFIG names an empty file there. In the end all is as it was, the level
/// of the log too.
class Surroundings {
 public:
  Surroundings() {
    std::string name = std::filesystem::temp_directory_path() / "rlock-unit.XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    directory_ = name;
    for (const auto entry : os::environment()) environment_.emplace_back(entry);
    for (const auto& entry : environment_) {
      if (entry.starts_with("RLOCK_")) unset(entry.substr(0, entry.find('=')));
    }
    unset("REDISCLI_AUTH");
    unset("XDG_CONFIG_HOME");
    set("HOME", directory_);
    set("RLOCK_CONFIG", config(""));
  }
  ~Surroundings() {
    base::log::set_level(level_);
    ::clearenv();
    for (const auto& entry : environment_) {
      const auto end = entry.find('=');
      set(entry.substr(0, end), entry.substr(end + 1));
    }
    std::filesystem::remove_all(directory_);
  }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  static void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  static void unset(const std::string& name) { ::unsetenv(name.c_str()); }

  /// A path in the directory.
  [[nodiscard]] std::string operator/(const std::string& name) const {
    return directory_ + "/" + name;
  }
  /// Writes a file, and returns its path.
  [[nodiscard]] std::string write(const std::string& name, const std::string& text,
                                  mode_t mode = 0600) const {
    const std::filesystem::path path = *this / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path} << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  /// What a file has.
  [[nodiscard]] std::string read(const std::string& name) const {
    return *os::contents_of(*this / name);
  }
  /// The config file that RLOCK_CONFIG names.
  std::string config(const std::string& text) const { return write("conf", text); }

 private:
  std::string directory_;
  std::vector<std::string> environment_;
  base::log::Level level_ = base::log::level();
};

/// What rlock says on stderr meanwhile. One at a time.
class Said {
 public:
  Said() : at_once_{take} { said().clear(); }
  [[nodiscard]] const std::string& text() const { return said(); }

 private:
  static std::string& said() {
    static std::string text;
    return text;
  }
  static std::size_t take(std::string_view text) {
    said() += text;
    return text.size();
  }
  base::log::NonBlockingStderr at_once_;
};

/// Sends stdout to a file meanwhile.
class StdoutTo {
 public:
  explicit StdoutTo(const std::string& path) {
    std::fflush(stdout);
    const os::Fd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    REQUIRE(file);
    ::dup2(file.number(), STDOUT_FILENO);
  }
  ~StdoutTo() {
    ::__fpurge(stdout);  // what could not be written there belongs nowhere else
    std::clearerr(stdout);
    ::dup2(before_.number(), STDOUT_FILENO);
  }
  StdoutTo(const StdoutTo&) = delete;
  StdoutTo& operator=(const StdoutTo&) = delete;

 private:
  os::Fd before_{::dup(STDOUT_FILENO)};
};

}  // namespace unit
