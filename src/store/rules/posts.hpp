// The meaning of messages that the rules have sent: see Post and Letter.
#pragma once

#include <optional>
#include <string_view>

#include "store/answers.hpp"

namespace store::rules {

/// The notice for a holder or waiter; nothing for a message that only wakes. Printable, shortened.
std::optional<Notice> notice_in(std::string_view message);

}  // namespace store::rules
