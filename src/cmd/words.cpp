#include "cmd/words.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cmd/refusal.hpp"

namespace cmd {
namespace {

bool takes_value(const CLI::App& app, const std::string& name) {
  const CLI::Option* option = app.get_option_no_throw(name);
  return option != nullptr && option->get_items_expected_min() > 0;
}

/// Whether the word that follows `word` belongs to it.
bool wants_next(const CLI::App& app, const std::string& word) {
  if (word.starts_with("--")) {
    return takes_value(app, word);
  }
  // A cluster: "-nk" wants a value, "-nkx" and "-t5s" have it.
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (takes_value(app, std::string{'-', word[i]})) return i + 1 == word.size();
  }
  return false;
}

}  // namespace

Words cut(const std::vector<std::string>& argv, const CLI::App& app) {
  Words words;
  auto word = argv.begin();
  for (; word != argv.end() && word->size() > 1 && word->front() == '-'; ++word) {
    if (*word == "--") {
      ++word;
      break;
    }
    const auto equals = word->find('=');
    if (word->starts_with("--") && equals != std::string::npos &&
        takes_value(app, word->substr(0, equals))) {
      // In two words, because CLI11 takes "--ttl=" for a value that was forgotten.
      words.options.push_back(word->substr(0, equals));
      words.options.push_back(word->substr(equals + 1));
      continue;
    }
    words.options.push_back(*word);
    if (wants_next(app, *word) && std::next(word) != argv.end()) words.options.push_back(*++word);
  }
  words.operands.assign(word, argv.end());
  return words;
}

void parse_options(CLI::App& app, const std::vector<std::string>& options) {
  try {
    std::vector<std::string> reversed{options.rbegin(), options.rend()};
    app.parse(std::move(reversed));
  } catch (const CLI::ExtrasError&) {
    const auto unknown = app.remaining();
    throw Refusal{ExitCode::usage,
                  fmt::format("unknown option '{}'; accepted: see rlock{} --help",
                              base::printable(unknown.empty() ? "" : unknown.front(), 100),
                              app.get_name().empty() ? "" : " " + app.get_name())};
  } catch (const CLI::ParseError& error) {
    throw Refusal{ExitCode::usage, base::printable(error.what(), 300)};
  }
}

}  // namespace cmd
