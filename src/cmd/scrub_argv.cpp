#include "cmd/scrub_argv.hpp"

#include <algorithm>
#include <string_view>

#include "store/url.hpp"

namespace cmd {

void scrub_argv(std::span<char*> words) {
  for (char* word : words) {
    const std::string_view text{word};
    if (text == "--") return;
    for (const auto& [begin, end] : store::secrets_in(text)) {
      std::fill(word + begin, word + end, '*');
    }
  }
}

}  // namespace cmd
