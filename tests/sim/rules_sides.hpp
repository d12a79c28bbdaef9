// The rules of a lock, told twice: what the scripts of Redis make of a request, and what
// store/rules makes of it, in one form.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "redis_double.hpp"
#include "store/rules/decide.hpp"

namespace sim {

namespace rules = store::rules;

struct Check {
  store::Token token;
};
struct Inspect {};
using RuleRequest =
    std::variant<rules::Enter, rules::Leave, rules::Cancel, rules::Refresh, rules::ForceRelease,
                 rules::AskToStop, rules::LastWordTo, Check, Inspect>;

/// The visible state of a lock after a request: lines for people, which are equal if all is.
struct Seen {
  std::string answer;
  std::string posts;  // whom it wakes or tells, with what; for each in the order of the words
  std::string state;

  bool operator==(const Seen&) const = default;
};

/// One lock on a server that runs the scripts. Of what it is told each client reads at once what
/// may be lost; a letter stays.
class LuaSide {
 public:
  explicit LuaSide(std::shared_ptr<ScriptEngine> engine) : redis_{std::move(engine)} {}
  Seen play(const RuleRequest& request, std::uint64_t now_us);
  /// When something ends, ms since 1970.
  std::vector<std::int64_t> ends(std::uint64_t now_us);

 private:
  Reply run(const RuleRequest& request, std::uint64_t now_us);
  void forget_old_letters(Keyspace& keys);
  std::string read_mail(Keyspace& keys);
  std::string state(Keyspace& keys);

  RedisDouble redis_;
  Client client_;
  std::map<std::string, std::deque<std::int64_t>> letters_end_;  // by mailbox, in their order
};

/// The same lock as a value.
class RulesSide {
 public:
  Seen play(const RuleRequest& request, std::uint64_t now_us);
  /// Two wait with the same ticket.
  [[nodiscard]] bool has_twin_tickets() const;

 private:
  rules::LockState state_;
};

/// For people: one line.
std::string told(const RuleRequest& request);
/// The lock of both.
store::LockName lock_of_rules();
/// The slots that claims of it are for.
const std::vector<std::string>& slots_of_rules();

}  // namespace sim
