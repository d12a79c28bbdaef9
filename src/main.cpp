// argv in, exit code out.
#include <cstdlib>
#include <exception>
#include <system_error>

#include "base/log.hpp"
#include "base/result.hpp"
#include "cmd/parse.hpp"
#include "cmd/present.hpp"
#include "cmd/server_options.hpp"

/// From the leak sanitizer, in builds with it.
extern "C" void __lsan_do_leak_check() __attribute__((weak));

namespace {

int run(int argc, char** argv) {
  cmd::forbid_core_files();
  try {
    cmd::secure_output();
    const std::vector<std::string> words{argv + 1, argv + argc};
    cmd::scrub_argv({argv + 1, argv + argc});
    auto parsed = cmd::parse(words);
    return base::match(
        std::move(parsed), [](cmd::Act&& act) { return act(); },
        [](cmd::Answer&& answer) {
          cmd::print(answer.text);
          return static_cast<int>(cmd::ExitCode::ok);
        });
  } catch (const cmd::UsageError& error) {
    base::log::error("{}", error.line);
    return error.code;
  } catch (const std::system_error& error) {
    base::log::error("{}", error.what());
    return cmd::ExitCode::system_refused;
  } catch (const std::exception& error) {
    base::log::error("a fault of rlock itself: {}", error.what());
    return cmd::ExitCode::internal;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int code = cmd::has_stack() ? run(argc, argv) : int{cmd::ExitCode::system_refused};
  // Not exit(): a thread that hangs in a name server or a lock server may be left behind, and must
  // not lose the statics that it uses, OpenSSL's among them. All output is already written.
  if (__lsan_do_leak_check != nullptr) __lsan_do_leak_check();
  std::_Exit(code);
}
