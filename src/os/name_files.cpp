#include "os/name_files.hpp"

#include <algorithm>
#include <charconv>

namespace os {
namespace {

constexpr std::string_view blanks = " \t\r";

/// Removes a line from the beginning and returns it without its comment.
std::string_view next_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const auto line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line.substr(0, line.find('#'));
}

/// Removes a word from the beginning; empty if there is none.
std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  const auto word = line.substr(0, line.find_first_of(blanks));
  line.remove_prefix(word.size());
  return word;
}

std::string_view next_field(std::string_view& line) {
  const auto field = line.substr(0, line.find(':'));
  line.remove_prefix(std::min(field.size() + 1, line.size()));
  return field;
}

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool same_host(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

/// The text after "database:"; nothing if there is no such line.
std::string_view services_of(std::string_view text, std::string_view database) {
  while (!text.empty()) {
    auto line = next_line(text);
    const auto colon = line.find(':');
    auto name = line.substr(0, colon);
    if (colon != std::string_view::npos && next_word(name) == database) {
      return line.substr(colon + 1);
    }
  }
  return {};
}

}  // namespace

bool is_in_hosts(std::string_view text, std::string_view host) {
  while (!text.empty()) {
    auto line = next_line(text);
    if (next_word(line).empty()) continue;  // the address
    for (auto word = next_word(line); !word.empty(); word = next_word(line)) {
      if (same_host(word, host)) return true;
    }
  }
  return false;
}

std::optional<std::string> user_in_passwd(std::string_view text, uid_t user) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto name = next_field(line);
    next_field(line);  // the password
    const auto number = next_field(line);
    uid_t found = 0;
    const auto* const last = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), last, found);
    // Lines with "+" and "-" are for NIS.
    const bool is_name = !name.empty() && name[0] != '+' && name[0] != '-' && name[0] != '#';
    if (is_name && error == std::errc{} && stop == last && found == user) return std::string{name};
  }
  return std::nullopt;
}

NameServices services_in(std::string_view text, std::string_view database,
                         std::initializer_list<std::string_view> built_in) {
  NameServices result;
  bool kept = false;  // the service before an action in brackets
  bool in_brackets = false;
  auto line = services_of(text, database);
  for (auto word = next_word(line); !word.empty(); word = next_word(line)) {
    in_brackets = in_brackets || word.front() == '[';
    if (!in_brackets) {
      kept = std::find(built_in.begin(), built_in.end(), word) != built_in.end();
    }
    auto& list = kept ? result.built_in : result.plugins;
    if (kept || !in_brackets) {
      if (!list.empty()) list += kept ? " " : ", ";
      list += word;
    }
    if (word.back() == ']') in_brackets = false;
  }
  return result;
}

}  // namespace os
