// A request that cannot be carried out as it stands; the user can fix it.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>

#include "cmd/exit_code.hpp"

namespace cmd {

/// Thrown while argv, environment and config become a plan, before anything was touched; caught in
/// one place, which prints `line` and exits with `code`.
struct Refusal : std::exception {
  Refusal(ExitCode code_, std::string line_) : code{code_}, line{std::move(line_)} {}
  [[nodiscard]] const char* what() const noexcept override { return line.c_str(); }

  ExitCode code;
  std::string line;
};

/// "--ttl: saw '5x', accepted: a duration …"
Refusal not_accepted(std::string_view source, std::string_view seen, std::string_view accepted,
                     ExitCode code = ExitCode::usage);

/// A word of the user's in a message: printable, not in full if it is a novel, and without the
/// secret of a URL, which may have ended up at a wrong place.
std::string shown(std::string_view word);
/// The same for a word that is no option: only its name, and nothing that may be glued to it.
std::string shown_option(std::string_view word);

}  // namespace cmd
