// The Lua scripts, embedded at build time from lua/*.lua, and their answers as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/lock_store.hpp"
#include "store/redis/connection.hpp"

namespace store::redis {

/// Each follows those of lua/parts/*.lua that its first line names.
struct Script {
  std::string_view sha1;  // of the body, for EVALSHA
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

/// The arguments of a script: names and values. Unset ones are omitted.
class Arguments {
 public:
  Arguments& say(const char* name, std::string value);
  Arguments& say(const char* name, Millis length);
  Arguments& say(const char* name, std::uint64_t number);
  [[nodiscard]] std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

/// The answer of a script: names and values, from an element of `reply` on. A missing one reads as
/// an absent element: an empty text, 0. Must not outlive `reply`.
class Fields {
 public:
  explicit Fields(const Reply& reply, std::size_t first = 0) : reply_{reply}, first_{first} {}
  [[nodiscard]] Reply operator[](std::string_view name) const;

 private:
  const Reply& reply_;
  std::size_t first_;
};

/// A duration in milliseconds, bounded by 0 and 100 years.
Millis length_in(const Reply& field);
/// The same; nothing if it is absent.
std::optional<Millis> length_if_in(const Reply& field);
/// The holder of the lock, from its fields; nothing if they are absent: the lock is free.
std::optional<Holder> holder_in(const Reply& fields);
/// The number of a run for a slot, or of a permit.
unsigned number_in(const Reply& field);
/// A fence or a cursor in decimal; nothing for any other text.
std::optional<Fence> unsigned_in(const Reply& field);
/// Modes as in the scripts: "exclusive", "shared", "permits=3", "one-of=gpu:0,gpu:1".
Mode mode_in(std::string_view text);
/// A queue entry: the token, preceded by the mode unless that is exclusive.
std::string queue_id(const Token& token, const Mode& mode);
/// The inverse of queue_id().
std::pair<Token, Mode> waiter_in(std::string_view id);
/// For an answer that our scripts never give.
Fault nonsense();

}  // namespace store::redis
