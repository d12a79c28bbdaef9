// Config files: values as they stand there, or one clean line that says where and what.
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/config_file.hpp"
#include "cmd/options.hpp"
#include "cmd/report.hpp"
#include "property.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = ::memfd_create("config", MFD_CLOEXEC);
  fuzz::promise(file >= 0 && ::write(file, data, size) == static_cast<ssize_t>(size), "a file");
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  try {
    for (const auto& [name, value] : cmd::read_config(path)) {
      fuzz::promise(cmd::may_stand_in_config(name), "only names that there are");
      fuzz::promise(fuzz::text_of(data, size).find(value.text) != std::string_view::npos,
                    "the value stands in the file");
      fuzz::promise(value.text.find('\n') == std::string::npos, "a value is one line");
      fuzz::promise_clean(value.where, "where it stands is clean");
    }
  } catch (const cmd::UsageError& refusal) {
    fuzz::promise(base::is_printable(refusal.line), "a refusal is one clean line");
    fuzz::promise(refusal.line.size() < 4000, "of a length that people read");
    fuzz::promise(refusal.code == cmd::ExitCode::bad_config, "and of the config's exit code");
  }
  ::close(file);
  return 0;
}
