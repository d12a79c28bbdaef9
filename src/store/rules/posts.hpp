// What the words mean that the rules have sent: see Post and Letter.
#pragma once

#include <optional>
#include <string_view>

#include "store/answers.hpp"

namespace store::rules {

/// For a holder, or for one who waits; nothing for a word that only wakes. Printable, and cut.
std::optional<Notice> notice_in(std::string_view message);

}  // namespace store::rules
