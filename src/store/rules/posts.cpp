#include "store/rules/posts.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace store::rules {
namespace {

// The limit of a notice's text: a name, and a reason of 200 bytes.
constexpr std::size_t longest_word = 340;

}  // namespace

std::optional<Notice> notice_in(std::string_view message) {
  Notice notice{};
  if (message.starts_with("lost ")) {
    notice.kind = Notice::Kind::lost;
    notice.why = "force-released by ";
  } else if (message.starts_with("stop ")) {
    notice.kind = Notice::Kind::stop;
  } else {
    return std::nullopt;
  }
  message.remove_prefix(5);
  const auto space = std::min(message.find(' '), message.size());
  if (const auto reply = message.substr(0, space); reply != "-") notice.reply_to = reply;
  message.remove_prefix(std::min(space + 1, message.size()));
  notice.why += base::printable(message, longest_word);
  return notice;
}

}  // namespace store::rules
