// argv in, exit code out.
#include <cstdio>
#include <exception>
#include <system_error>

#include "base/log.hpp"
#include "base/result.hpp"
#include "cmd/parse.hpp"
#include "cmd/present.hpp"
#include "cmd/scrub_argv.hpp"

int main(int argc, char** argv) {
  cmd::secure_output();
  try {
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
