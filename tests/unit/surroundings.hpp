// The surroundings of a command line: an environment, files, and a stderr of the test's own.
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
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "cmd/parse.hpp"
#include "os/fd.hpp"
#include "os/file.hpp"
#include "os/host.hpp"

namespace unit {

/// A directory for files, also HOME, and an environment without the variables of the tests' user;
/// RLOCK_CONFIG names an empty file there. In the end all is as it was, the level of the log too.
class Surroundings {
 public:
  Surroundings() {
    directory_ = std::filesystem::temp_directory_path() / "rlock-unit.XXXXXX";
    REQUIRE(::mkdtemp(directory_.data()) != nullptr);
    environment_ = environment();
    for (const auto& [name, value] : environment_) {
      if (name.starts_with("RLOCK_")) unset(name);
    }
    unset("REDISCLI_AUTH");
    unset("XDG_CONFIG_HOME");
    set("HOME", directory_);
    set("RLOCK_CONFIG", config(""));
  }
  ~Surroundings() {
    base::log::set_level(level_);
    for (const auto& [name, value] : environment()) unset(name);
    for (const auto& [name, value] : environment_) set(name, value);
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
  /// The contents of a file.
  [[nodiscard]] std::string read(const std::string& name) const {
    return *os::contents_of(*this / name);
  }
  /// The config file that RLOCK_CONFIG names.
  std::string config(const std::string& text) const { return write("conf", text); }

 private:
  static std::map<std::string, std::string> environment() {
    std::map<std::string, std::string> variables;
    for (const auto entry : os::environment()) {
      const auto end = entry.find('=');
      variables.emplace(entry.substr(0, end), entry.substr(end + 1));
    }
    return variables;
  }

  std::string directory_;
  std::map<std::string, std::string> environment_;
  base::log::Level level_ = base::log::level();
};

/// The options of a command, read from the command line and from elsewhere.
inline cmd::Settings settings_of(const std::vector<std::string>& argv,
                                 cmd::Commands command = cmd::of::run) {
  cmd::Settings settings{"", command};
  const auto operands = settings.parse(argv, cmd::OptionsStand::before_operands);
  if (!operands.mistake.empty()) throw cmd::UsageError{cmd::ExitCode::usage, operands.mistake};
  settings.read_elsewhere();
  return settings;
}

/// Why something cannot be done as it was asked for: the exit code, 0 if it can, and the line.
using Refusal = std::pair<int, std::string>;
template <class Act>
Refusal refusal_of(const Act& act) {
  try {
    act();
  } catch (const cmd::UsageError& error) {
    return {error.code, error.line};
  }
  return {0, ""};
}

/// rlock's output on stderr meanwhile. One at a time.
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
