// What is posted to the pipe of one who holds a lock or waits for it: a line each.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/answers.hpp"
#include "store/local/memory.hpp"
#include "store/rules/decide.hpp"

namespace store::local {

/// "look": something has changed. It is all that a waiter needs to know.
inline constexpr const char* look = "look";

/// "stop why" or "lost who": a word of the rules as it has been written since the first version,
/// which waits for no reply. Nothing for a word that only wakes.
std::optional<std::string> line_of(const rules::Post& post);
/// "done", and what the slot is.
std::string line_of(const rules::RememberedSlot& done);

/// The other way round; nothing for any other line.
std::optional<Notice> notice_in(std::string_view line);
std::optional<rules::RememberedSlot> done_in(std::string_view line);

}  // namespace store::local
