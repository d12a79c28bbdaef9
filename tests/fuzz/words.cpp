// The command line: something to do or to print, or one clean line that says what is wrong with it.
#include <vector>

#include "cmd/parse.hpp"
#include "cmd/report.hpp"
#include "cmd/server_options.hpp"
#include "property.hpp"

namespace {

/// Overwritten as /proc/PID/cmdline would be: each word as long as it was, and none behind a "--".
void promise_scrubbed(const std::vector<std::string>& words) {
  auto copies = words;
  std::vector<char*> pointers;
  for (auto& copy : copies) pointers.push_back(copy.data());
  cmd::scrub_argv(pointers);
  bool ours = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    ours = ours && words[i] != "--";
    fuzz::promise(copies[i].size() == words[i].size(), "a word keeps its length");
    fuzz::promise(ours || copies[i] == words[i], "the job's words are its own");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ::setenv("HOME", "/nonexistent", 1);
  std::string_view text = fuzz::text_of(data, size);
  // A word holds no NUL; a file that one names may be one that never ends.
  if (text.find("/dev") != text.npos || text.find("/proc") != text.npos) return -1;
  std::vector<std::string> words;
  while (!text.empty()) words.emplace_back(fuzz::next(text, '\0'));
  promise_scrubbed(words);
  try {
    const auto parsed = cmd::parse(words);
    const auto* answer = std::get_if<cmd::Answer>(&parsed);
    fuzz::promise(answer == nullptr || !answer->text.empty(), "an answer says something");
  } catch (const cmd::UsageError& refusal) {
    fuzz::promise(base::is_printable(refusal.line), "a refusal is one clean line");
    fuzz::promise(refusal.line.size() < 4000, "of a length that people read");
    fuzz::promise(refusal.code == cmd::ExitCode::usage || refusal.code == cmd::ExitCode::bad_config,
                  "and of an exit code for that");
  }
  return 0;
}
