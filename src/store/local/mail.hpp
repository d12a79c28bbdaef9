// The lines that are posted to the pipe of a holder or a waiter.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/answers.hpp"
#include "store/local/memory.hpp"
#include "store/rules/decide.hpp"

namespace store::local {

/// Something has changed: look at the lock again.
inline constexpr const char* look = "look";

/// The notice of the rules as a line: "stop why" or "lost who", as every version writes it.
/// nullopt for a post that only wakes.
std::optional<std::string> line_of(const rules::Post& post);
/// "done" and the record of the slot.
std::string line_of(const rules::RememberedSlot& slot);

/// The notice or the slot that a line carries; nullopt for any other line.
std::optional<Notice> notice_in(std::string_view line);
std::optional<rules::RememberedSlot> done_in(std::string_view line);

}  // namespace store::local
