// The words that a shell offers after Tab. The shells' scripts do not know our options: they call
// this program with the words that were typed (src/cmd/completion/).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cmd/commands.hpp"

namespace cmd {

struct Completion {
  enum class Kind {
    words,   // these, and nothing else
    files,   // any file
    command  // the words from `begin` on are a command line of its own
  } kind = Kind::words;
  struct Word {
    std::string text;
    std::string help{};
  };
  std::vector<Word> words{};
  std::size_t begin = 0;
};

/// Keys for a word that begins with `prefix`; `options` are those of the server, as typed.
using KeySource = std::function<std::vector<std::string>(
    const std::string& prefix, Commands command, const std::vector<std::string>& options)>;

/// `words` are what stands behind "rlock", the last one as far as it is typed. A value behind
/// "--name=" is offered without that.
Completion completion_of(const std::vector<std::string>& words, const KeySource& keys);

/// Asks the server, for at most a quarter of a second, for keys in use or, for commands about past
/// runs, for recorded keys. Nothing if anything goes wrong.
std::vector<std::string> keys_of_server(const std::string& prefix, Commands command,
                                        const std::vector<std::string>& typed);

extern const char* const completion_help;
/// `rlock completion bash|zsh|fish` is the script, `rlock completion words ...` the answer to it.
/// Throws UsageError.
std::string completion_answer(const std::vector<std::string>& operands);

}  // namespace cmd
