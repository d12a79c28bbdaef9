#include "cmd/veil.hpp"

#include <algorithm>
#include <string_view>

namespace cmd {
namespace {

constexpr char asterisk = '*';

void veil_user_info(char* word, std::string_view text) {
  const auto scheme = text.find("://");
  const auto at = text.rfind('@');
  if (scheme == text.npos || at == text.npos || at < scheme) return;
  std::fill(word + scheme + 3, word + at, asterisk);
}

void veil_option(char* word, std::string_view text) {
  constexpr std::string_view option = "sentinel-password=";
  const auto begin = text.find(option);
  if (begin == text.npos) return;
  const auto value = begin + option.size();
  std::fill(word + value, word + std::min(text.find('&', value), text.size()), asterisk);
}

}  // namespace

void veil(std::span<char*> words) {
  for (char* word : words) {
    const std::string_view text{word};
    if (text == "--") return;
    veil_user_info(word, text);
    veil_option(word, text);
  }
}

}  // namespace cmd
