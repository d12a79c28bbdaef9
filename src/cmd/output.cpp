#include "cmd/output.hpp"

#include <cstdio>

#include "os/error.hpp"
#include "os/stdio.hpp"

namespace cmd {

void secure_output() {
  os::occupy_standard_descriptors();
}

void print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) os::fail("writing to stdout");
}

}  // namespace cmd
