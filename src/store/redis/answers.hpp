// What our scripts answer, as values.
#pragma once

#include <utility>

#include "store/lock_store.hpp"
#include "store/redis/reply.hpp"

namespace store::redis {

/// A length in milliseconds: no less than 0, at most 100 years.
Millis length_in(const Reply& field);
/// Who has the lock, from the five fields that begin at `reply[first]`; nothing if nobody.
std::optional<Holder> occupant_in(const Reply& reply, std::size_t first);
/// A fence or a cursor; nothing if the text is no number.
std::optional<Fence> number_in(const Reply& field);
/// Modes as the scripts write them: "exclusive", "shared", "permits=3".
Mode mode_in(std::string_view text);
/// What stands in the queue: the token, with the mode before it if that is not exclusive.
std::string queue_id(const Token& token, const Mode& mode);
/// The other way round.
std::pair<Token, Mode> waiter_in(std::string_view id);
/// "lost REPLY WHO" and "stop REPLY TEXT", as they stand in a mailbox; nothing for a mere wake.
std::optional<Notice> notice_in(std::string_view message);
/// For an answer that a script of ours never gives.
Fault nonsense();

}  // namespace store::redis
