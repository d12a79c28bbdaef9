#include "workload.hpp"

#include <algorithm>
#include <array>

#include "scripts.hpp"

namespace sim {
namespace {

std::string companion(const std::string& lock, const char* which) {
  return '{' + lock + "}:rlock:" + which;
}

}  // namespace

Workload::Workload(std::uint64_t seed) : random_{seed}, locks_{1 + random_.number(2)} {
  usual_mode_ = random_.pick({"", "", "shared ", "permits=2 ", "permits=3 "});
  tokens_ = 2 + random_.number(6);
}

std::string Workload::lock() {
  return std::string(1, static_cast<char>('a' + random_.number(locks_)));
}

std::string Workload::token() {
  // A foreign one may be anything.
  if (random_.chance(2))
    return random_.pick({"", "shared x", "t1 ", "a\r\nb", "rlock:shared", "%d"});
  return 't' + std::to_string(random_.number(tokens_)) + "@host";
}

std::string Workload::mode() {
  if (random_.chance(90)) return usual_mode_;
  return random_.pick({"", "shared ", "permits=1 ", "permits=2 ", "permits=3 "});
}

std::string Workload::id() {
  return mode() + token();
}

std::string Workload::milliseconds() {
  if (random_.chance(30)) return std::to_string(random_.between(1, 40'000));
  return random_.pick({"1", "2", "50", "500", "2000", "3000", "10000", "30000", "86400000"});
}

// From µs to days, as leases and graces are.
Micros Workload::pause() {
  const auto kind = random_.number(100);
  if (kind < 30) return random_.between(0, 3'000);
  if (kind < 60) return random_.between(0, 300'000);
  if (kind < 82) return random_.between(0, 3'000'000);
  if (kind < 95) return random_.between(0, 35'000'000);
  if (kind < 97) return random_.between(0, Micros{200'000} * 1'000'000);
  return -random_.between(0, 10'000'000);
}

std::string Workload::some_key() {
  const std::string of = lock();
  switch (random_.number(9)) {
    case 0: return of;
    case 1: return companion(of, "queue");
    case 2: return companion(of, "alive");
    case 3: return companion(of, "fence");
    case 4: return companion(of, "held");
    case 5: return companion(of, "grants");
    case 6: return companion(of, "runs");
    case 7: return companion(of, "slot:") + random_.pick({"x", "y"});
    default: return companion(of, "mail:") + token();
  }
}

Act Workload::of(std::string name, Words arguments) {
  const std::string on = lock();
  Act act;
  act.script = std::move(name);
  act.keys = {on};
  for (const char* which : {"queue", "alive", "fence", "held", "grants", "runs"}) {
    act.keys.push_back(companion(on, which));
  }
  act.words = {companion(on, "mail:")};
  act.words.insert(act.words.end(), arguments.begin(), arguments.end());
  // Commands that our clients never send, but anybody could.
  if (random_.chance(1)) {
    auto& word = act.words[random_.number(act.words.size())];
    word = random_.pick({"", "x", "-5", "1.5", "1e400", "99999999999999999999"});
  }
  if (random_.chance(1)) act.words.pop_back();
  return act;
}

Act Workload::for_slot(Act act, Words more) {
  if (random_.chance(60)) return act;
  act.keys.push_back(companion(act.keys.front(), "slot:") + random_.pick({"x", "y"}));
  act.words.insert(act.words.end(), more.begin(), more.end());
  return act;
}

void Workload::may_say(Words& words, unsigned percent, const char* name, std::string value) {
  if (!random_.chance(percent)) return;
  words.emplace_back(name);
  words.push_back(std::move(value));
}

Act Workload::enter() {
  Words words{"id", id(), "ttl", milliseconds(), "confirm_within", milliseconds()};
  may_say(words, 65, "patience", milliseconds());
  if (!tickets_.empty()) may_say(words, 30, "ticket", random_.pick(tickets_));
  may_say(words, 15, "max_waiters", std::to_string(random_.number(4)));
  may_say(words, 10, "supersede", "newer one");
  may_say(words, 20, "spare_holders", "1");
  may_say(words, 50, "tried", milliseconds());
  may_say(words, 50, "history", milliseconds());
  may_say(words, 90, "run_begin", "12\t\t");
  may_say(words, 20, "reason", "a migration");
  return for_slot(of("enter", std::move(words)), {});
}

Act Workload::leave() {
  const bool cancel = random_.chance(35);
  Words words{"id",
              cancel || random_.chance(20) ? id() : token(),
              "confirm_within",
              milliseconds(),
              "how",
              cancel ? "cancel" : "release"};
  if (!cancel) may_say(words, 25, "min_hold", milliseconds());
  may_say(words, 50, "history", milliseconds());
  if (!cancel) may_say(words, 66, "run_end", random_.pick({"exited 0\t", "cancelled 0\tby x"}));
  may_say(words, 10, "fence", std::to_string(random_.number(1ULL << 52U)));
  Words of_slot;
  may_say(of_slot, 75, "slot_end", random_.pick({"done", "failed", "open"}));
  may_say(of_slot, 95, "retries", random_.pick({"0", "1", "3"}));
  may_say(of_slot, 95, "attempt", random_.pick({"1", "2", "7"}));
  may_say(of_slot, 95, "failures", random_.pick({"0", "1", "2"}));
  return for_slot(of("leave", std::move(words)), std::move(of_slot));
}

// A client that waits for the list gets its first element when the script is over, not when it
// began to push.
Act Workload::pushes() {
  Act act;
  act.script = "pushes";
  act.keys = {companion(lock(), "mail:") + token()};
  return act;
}

Act Workload::script() {
  const auto kind = random_.number(100);
  if (kind < 45) return enter();
  if (kind < 64) return leave();
  if (kind < 74) return of("renew", {token(), milliseconds()});
  if (kind < 79) {
    const std::string fence = random_.chance(50) && !tickets_.empty()
                                  ? random_.pick(tickets_)
                                  : std::to_string(random_.number(1ULL << 52U));
    return for_slot(of("raise", {"token", token(), "fence", fence, "ttl", milliseconds()}),
                    {"history", milliseconds(), "attempt", random_.pick({"1", "4"}), "failures",
                     random_.pick({"0", "2"})});
  }
  if (kind < 85) return of("check", {token()});
  if (kind < 91) return of("inspect", {random_.pick({"1", "2", "50"})});
  if (kind < 93) return of("tell", {"reply" + std::to_string(random_.number(3)), "stopped"});
  Words tokens;
  for (auto count = random_.number(4); count > 0; --count) tokens.push_back(token());
  const std::string reply = random_.chance(70) ? "reply" + std::to_string(random_.number(3)) : "";
  Words arguments{reply, "root@elsewhere, because"};
  const bool force = kind < 97;
  if (force) arguments.insert(arguments.begin(), milliseconds());
  arguments.insert(arguments.end(), tokens.begin(), tokens.end());
  return force ? of("force_release", arguments) : of("ask_to_stop", arguments);
}

Act Workload::on_list_or_string(const std::string& key) {
  Act act;
  const std::string index = random_.pick({"0", "1", "2", "-1", "-2", "-9", "9", "01", "x"});
  const std::string end = random_.pick({"0", "1", "2", "-1", "-2", "-9", "9"});
  switch (random_.number(13)) {
    case 0: act.words = {"SET", key, token(), "NX", "PX", milliseconds()}; break;
    case 1: act.words = {"SET", key, token(), random_.pick({"NX", "XX", "KEEPTTL", "PX"})}; break;
    case 2:
      act.words = {"SET", key, token(), "EX", random_.pick({"1", "30", "0", "-1", "x"})};
      break;
    case 3: act.words = {"GET", key}; break;
    case 4: act.words = {"RPUSH", key, random_.pick({"wake", "next", "stop - x"}), "next"}; break;
    case 5: act.words = {"LPUSH", key, random_.pick({"wake", "next"})}; break;
    case 6: act.words = {"LPOP", key}; break;
    case 7: act.words = {"LLEN", key}; break;
    case 8: act.words = {"LINDEX", key, index}; break;
    case 9: act.words = {"LSET", key, index, random_.pick({"wake", "next"})}; break;
    case 10: act.words = {"LREM", key, index, random_.pick({"wake", "next"})}; break;
    case 11: act.words = {"LTRIM", key, index, end}; break;
    default: act.words = {"LRANGE", key, index, end};
  }
  return act;
}

Act Workload::on_sorted_set(const std::string& key) {
  Act act;
  // No number that versions of Redis read differently: 0x10, or a space before it.
  const auto score = [&] {
    return random_.chance(70) ? std::to_string(random_.between(-5, 5))
                              : random_.pick({"1.5", "-inf", "inf", "1e17", "nan", "x", "-0.25", "",
                                              "1e3", "(1", "1700000000000001", "0.1"});
  };
  const std::string member = random_.chance(50) ? id() : random_.pick({"m", "n", "o"});
  const std::string first = random_.pick({"0", "1", "-1", "-2", "5", "-9"});
  const std::string last = random_.pick({"0", "1", "-1", "-2", "5", "-9"});
  const std::string least = random_.chance(50) ? score() : random_.pick({"-inf", "(0", "(-1"});
  const std::string most = random_.chance(50) ? score() : random_.pick({"+inf", "(3", "2"});
  const std::string with = random_.pick({"WITHSCORES", "withscores", "BOTH"});
  switch (random_.number(10)) {
    case 0:
    case 1: act.words = {"ZADD", key, score(), member}; break;
    case 2: act.words = {"ZADD", key, score(), member, score(), "m"}; break;
    case 3: act.words = {"ZREM", key, member, "m"}; break;
    case 4: act.words = {"ZSCORE", key, member}; break;
    case 5: act.words = {"ZCARD", key}; break;
    case 6: act.words = {"ZRANK", key, member}; break;
    case 7: act.words = {"ZRANGE", key, first, last}; break;
    case 8: act.words = {"ZRANGE", key, first, last, with}; break;
    default:
      act.words = {"ZRANGEBYSCORE", key, least, most};
      if (random_.chance(30)) act.words.push_back(with);
      if (random_.chance(50)) {
        const Words limit{"LIMIT", std::to_string(random_.between(-1, 2)),
                          std::to_string(random_.between(-1, 3))};
        act.words.insert(act.words.end(), limit.begin(), limit.end());
      }
  }
  return act;
}

Act Workload::command() {
  const std::string key = some_key();
  const auto kind = random_.number(100);
  Act act;
  if (kind < 35) {
    act = on_list_or_string(key);
  } else if (kind < 70) {
    act = on_sorted_set(key);
  } else if (kind < 78) {
    act.words = {"DEL", key, some_key()};
  } else if (kind < 85) {
    act.words = {"PEXPIRE", key,
                 random_.chance(80) ? milliseconds()
                                    : random_.pick({"0", "-1", "x", "9223372036854775807"})};
  } else if (kind < 90) {
    act.words = {"PTTL", key};
  } else if (kind < 93) {
    act.words = {"PERSIST", key};
  } else if (kind < 96) {
    act.words = {"EXISTS", key, key, some_key()};
  } else {
    act.words = {"TYPE", key};
  }
  act.kind = Act::Kind::command;
  return act;
}

Act Workload::next() {
  Act act;
  const auto kind = random_.number(100);
  if (poor_ && random_.chance(25)) {
    poor_ = false;
    act.kind = Act::Kind::memory;
    act.yes = false;
  } else if (kind < 1) {
    act.kind = Act::Kind::flush_scripts;
  } else if (kind < 3 && !poor_) {
    poor_ = true;
    act.kind = Act::Kind::memory;
    act.yes = true;
  } else if (kind < 12) {
    act.kind = Act::Kind::pop;
    act.client = random_.number(clients);
    act.keys = {companion(lock(), "mail:") + token()};
    if (random_.chance(20)) act.keys.push_back(some_key());
    // Never "0.000", or the real one would wait forever.
    act.words = {random_.chance(30) ? "0" : random_.pick({"0.001", "0.1", "2", "60.000"})};
  } else if (kind < 22) {
    act = command();
  } else if (kind < 24) {
    act = pushes();
  } else {
    act = script();
  }
  act.later = poor_ ? 0 : pause();
  return act;
}

void Workload::learn(const Reply& reply) {
  if (reply.elements.empty() || reply.elements[0].text != "queued") return;
  tickets_.push_back(field(reply, "ticket").text);
}

}  // namespace sim
