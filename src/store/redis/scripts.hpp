// The Lua scripts, embedded at build time from lua/*.lua, and what they answer, as values.
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

/// Each behind those of lua/parts/*.lua that its first line names.
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

/// What a script is told: names and values. What is not so is not said.
class Arguments {
 public:
  Arguments& say(const char* name, std::string value);
  Arguments& say(const char* name, Millis length);
  Arguments& say(const char* name, std::uint64_t number);
  [[nodiscard]] std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

/// What a script answers: names and values, which begin at an element of `reply`. One that is not
/// there reads as an absent element: an empty text, 0. Lives no longer than `reply`.
class Fields {
 public:
  explicit Fields(const Reply& reply, std::size_t first = 0) : reply_{reply}, first_{first} {}
  [[nodiscard]] Reply operator[](std::string_view name) const;

 private:
  const Reply& reply_;
  std::size_t first_;
};

/// A length in milliseconds: no less than 0, at most 100 years.
Millis length_in(const Reply& field);
/// The same; nothing if it is absent.
std::optional<Millis> length_if_in(const Reply& field);
/// The holder of the lock, from its fields; nothing if they are absent: it is free.
std::optional<Holder> holder_in(const Reply& fields);
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
/// For an answer that a script of ours never gives.
Fault nonsense();

}  // namespace store::redis
