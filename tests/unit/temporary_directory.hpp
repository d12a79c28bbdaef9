// A directory for one test case, which is gone at the end.
#pragma once

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "os/file.hpp"

namespace unit {

struct TemporaryDirectory {
  std::string path;

  TemporaryDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "rlock-unit.XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] std::string operator/(const std::string& name) const { return path + "/" + name; }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text,
                                  mode_t mode) const {
    const std::string file = *this / name;
    REQUIRE(os::append_to(file, text));
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    return file;
  }
};

inline mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

}  // namespace unit
