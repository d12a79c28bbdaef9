#include "store/local/mail.hpp"

#include <fmt/format.h>

#include "store/rules/posts.hpp"

namespace store::local {
namespace {

constexpr std::string_view slot_is_done = "done ";

}  // namespace

std::optional<std::string> line_of(const rules::Post& post) {
  const std::string_view message{post.message};
  const auto reply_at = message.find(' ');
  const auto text_at = message.find(' ', reply_at + 1);
  if (!rules::notice_in(message) || text_at == std::string_view::npos) return std::nullopt;
  return fmt::format("{}{}", message.substr(0, reply_at), message.substr(text_at));
}

std::string line_of(const rules::RememberedSlot& slot) {
  return fmt::format("{}{}", slot_is_done, text_of(slot));
}

std::optional<Notice> notice_in(std::string_view line) {
  const auto text_at = line.find(' ');
  if (text_at == std::string_view::npos) return std::nullopt;
  return rules::notice_in(fmt::format("{} -{}", line.substr(0, text_at), line.substr(text_at)));
}

std::optional<rules::RememberedSlot> done_in(std::string_view line) {
  if (!line.starts_with(slot_is_done)) return std::nullopt;
  auto slot = slot_in(line.substr(slot_is_done.size()));
  return slot && slot->state.is_done() ? slot : std::nullopt;
}

}  // namespace store::local
