// The Lua scripts, embedded at build time from lua/*.lua, and what they answer, as values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/lock_store.hpp"
#include "store/redis/connection.hpp"

namespace store::redis {

/// Each behind lua/prologue.lua.
struct Script {
  std::string_view sha1;  // of the body, as EVALSHA wants it
  std::string_view body;
};

namespace scripts {
extern const Script enter;
extern const Script leave;
extern const Script renew;
extern const Script raise;
extern const Script check;
extern const Script inspect;
extern const Script force_release;
extern const Script ask_to_stop;
extern const Script tell;
}  // namespace scripts

/// A length in milliseconds: no less than 0, at most 100 years.
Millis length_in(const Reply& field);
/// The holder of the lock, from the five fields that begin at `reply[first]`; nothing if it is
/// free.
std::optional<Holder> holder_in(const Reply& reply, std::size_t first);
/// The number of a run for a slot, or of a permit, as an integer.
unsigned number_in(const Reply& field);
/// A fence or a cursor, written in decimal; nothing for any other text.
std::optional<Fence> unsigned_in(const Reply& field);
/// Modes as the scripts write them: "exclusive", "shared", "permits=3", "one-of=gpu:0,gpu:1".
Mode mode_in(std::string_view text);
/// What stands in the queue: the token, with the mode before it if that is not exclusive.
std::string queue_id(const Token& token, const Mode& mode);
/// The inverse of queue_id().
std::pair<Token, Mode> waiter_in(std::string_view id);
/// "lost REPLY WHO" and "stop REPLY TEXT", as they stand in a mailbox; nothing for a mere wake.
std::optional<Notice> notice_in(std::string_view message);
/// For an answer that a script of ours never gives.
Fault nonsense();

}  // namespace store::redis
