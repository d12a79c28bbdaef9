// The variables that a nested run gets from the outer run.
#include "hold/environment.hpp"
#include "property.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{fuzz::text_of(data, size)};
  ::setenv("RLOCK_HELD", "1", 1);
  ::setenv("RLOCK_HOLDS", text.c_str(), 1);
  for (const auto& hold : hold::outer_holds()) {
    fuzz::promise(text.find(hold.token.text()) != std::string::npos, "a token that stands there");
    fuzz::promise(hold.key.find('\n') == std::string::npos, "one line for each");
    fuzz::promise(base::is_printable(hold.token.shown()), "which can be shown");
  }
  return 0;
}
