#include "cmd/words.hpp"

#include <iterator>

namespace cmd {
namespace {

/// Whether the word that follows `word` belongs to it.
bool wants_next(const Settings& settings, const std::string& word) {
  if (word.starts_with("--")) return settings.takes_value(word);
  // A cluster: "-nk" wants a value, "-nkx" and "-t5s" have it.
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (settings.takes_value(std::string{'-', word[i]})) return i + 1 == word.size();
  }
  return false;
}

}  // namespace

Words cut(const std::vector<std::string>& argv, const Settings& settings) {
  Words words;
  auto word = argv.begin();
  for (; word != argv.end() && word->size() > 1 && word->front() == '-'; ++word) {
    if (*word == "--") {
      ++word;
      words.ended = true;
      break;
    }
    const auto equals = word->find('=');
    if (word->starts_with("--") && equals != std::string::npos &&
        settings.takes_value(word->substr(0, equals))) {
      // In two words, because CLI11 takes "--ttl=" for a value that was forgotten.
      words.options.push_back(word->substr(0, equals));
      words.options.push_back(word->substr(equals + 1));
      continue;
    }
    words.options.push_back(*word);
    if (wants_next(settings, *word) && std::next(word) != argv.end())
      words.options.push_back(*++word);
  }
  words.operands.assign(word, argv.end());
  return words;
}

}  // namespace cmd
