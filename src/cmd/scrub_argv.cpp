#include "cmd/scrub_argv.hpp"

#include <algorithm>
#include <string_view>

namespace cmd {
namespace {

constexpr char asterisk = '*';

void scrub_user_info(char* word, std::string_view text) {
  const auto scheme = text.find("://");
  const auto at = text.rfind('@');
  if (scheme == text.npos || at == text.npos || at < scheme) return;
  std::fill(word + scheme + 3, word + at, asterisk);
}

void scrub_option(char* word, std::string_view text) {
  constexpr std::string_view option = "sentinel-password=";
  const auto begin = text.find(option);
  if (begin == text.npos) return;
  const auto value = begin + option.size();
  std::fill(word + value, word + std::min(text.find('&', value), text.size()), asterisk);
}

}  // namespace

void scrub_argv(std::span<char*> words) {
  for (char* word : words) {
    const std::string_view text{word};
    if (text == "--") return;
    scrub_user_info(word, text);
    scrub_option(word, text);
  }
}

}  // namespace cmd
