#include "wire_cases.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "real_redis.hpp"
#include "session.hpp"

namespace sim {
namespace {

/// How Lua and Redis see each other's values, and what is said of errors.
const Words scripts{
    "return nil",
    "return false",
    "return true",
    "return 3.99",
    "return -3.99",
    "return 1700000000000001",
    "return 'x'",
    "return ''",
    "return {}",
    "return {1, 'two', 3.5, true, false}",
    "return {1, nil, 3}",
    "return {1, {2, {3, {}}}, 'x'}",
    "return {ok = 'fine'}",
    "return {err = 'WORD and more'}",
    "return {err = 'two\\nlines'}",
    "return {ok = 1, 'x'}",
    "return {x = 1, 'y'}",
    "return {{err = 'ERR inside'}, {ok = 'fine'}}",
    "return redis.error_reply('My own words')",
    "return redis.error_reply('-WORD more')",
    "return redis.error_reply('single')",
    "return redis.error_reply('-single')",
    "return redis.error_reply()",
    "return redis.status_reply('fine')",
    "return redis.status_reply(1)",
    "return function() end",
    "return {KEYS, ARGV}",
    "return #ARGV",
    "local x = y",
    "y = 1",
    "return os.getenv",
    "return ARGV[1] + 1",
    "return 'x' .. nil",
    "return nil < 1",
    "\n\nlocal t = nil\nreturn t.x",
    "error('mine')",
    "error({err = 'WORD mine'})",
    "error()",
    "return {pcall(error, 'caught', 0)}",
    "return tostring(1e15)",
    "return tostring(123456789012345678)",
    "return string.format('%.0f', 1700000000000001)",
    "return redis.call('SET', 'k', 1700000000000001)",
    "return redis.call('GET', 'k')",
    "return redis.call('SET', 'k', 1.5)",
    "return redis.call('SET', 'k', 0.1)",
    "return redis.call('SET', 'k', 1e30)",
    "return redis.call('SET', 'k', -7)",
    "return redis.call('SET', 'k', 2^53)",
    "return redis.call('GET', 'k')",
    "return redis.call('GET', 'absent')",
    "return type(redis.call('GET', 'absent'))",
    "return redis.call('SET', 'k', 'v', 'NX')",
    "return type(redis.call('SET', 'k', 'v', 'NX'))",
    "return type(redis.call('SET', 'k', 'v'))",
    "return redis.call('SET', 'k', 'v').ok",
    "return redis.call('RPUSH', 'k', 'x')",
    "return redis.pcall('RPUSH', 'k', 'x')",
    "return redis.pcall('RPUSH', 'k', 'x').err",
    "return type(redis.pcall('RPUSH', 'k', 'x'))",
    "\nredis.call('GET', 'k')\nredis.call('RPUSH', 'k', 'x')",
    "local ok, e = pcall(redis.call, 'RPUSH', 'k', 'x') return {e.err}",
    "return redis.call('FOO')",
    "return redis.call()",
    "return redis.call('GET')",
    "return redis.call('GET', {})",
    "return redis.call('GET', true)",
    "return redis.call('get', 'k')",
    "return redis.call('SET', 'k', 'v', 'PX', 1.5)",
    "return redis.call('SET', 'k', 'v', 'PX', 0)",
    "return redis.call('SET', 'k', 'v', 'PX', 1e20)",
    "redis.call('PEXPIRE', 'k', 1e13) return redis.call('PTTL', 'k') > 9e12",
    "return redis.call('PEXPIRE', 'k', 0)",
    "return redis.call('EXISTS', 'k')",
    "return redis.call('ZADD', 'z', 1.1, 'a', 2e20, 'b', '-inf', 'c', 1/3, 'd')",
    "return redis.call('ZRANGE', 'z', 0, -1, 'WITHSCORES')",
    "return redis.call('ZRANGEBYSCORE', 'z', '-inf', 1.1, 'LIMIT', 0, 64)",
    "return redis.call('ZRANGEBYSCORE', 'z', '(1.1', '+inf', 'WITHSCORES')",
    "return redis.call('ZRANGEBYSCORE', 'z', '-inf', '(1.1', 'LIMIT', 1, -1)",
    "return redis.call('ZSCORE', 'z', 'd')",
    "return redis.call('ZRANK', 'z', 'absent')",
    "return redis.call('ZADD', 'z', 'x', 'a')",
    "return redis.call('LRANGE', 'l', 0, -1)",
    "return redis.call('BLPOP', 'l', 0)",
    "return redis.call('WAIT', 0, 0)",
    "return redis.call('EVAL', 'return 1', 0)",
    "return redis.call('CONFIG', 'GET', 'save')",
    "return redis.call('SELECT', 1)",
    "return redis.call('PING')",
    "for i, v in ipairs({1, 2, nil, 4}) do redis.call('RPUSH', 'l', v) end return "
    "redis.call('LRANGE', 'l', 0, -1)",
    "return {math.huge > 1e300, math.floor(-1.5), math.max(1, 2), string.sub('abc', 1, 2)}",
    "return {('permits=12 x'):match('^(permits=%d+) (.*)$')}",
    "return unpack({1, 2})",
    "return {cut = 1, [1] = 'x', [3] = 'z'}",
    "retur",
    "return 1 +",
};

/// Of these, the ones that a later Redis answers differently (8.0 does); rlock uses none of them.
const Words only_as_7_0{
    "return os.getenv",
    "return redis.call('ZRANGE', 'z', 0, -1, 'WITHSCORES')",
    "return redis.call('ZSCORE', 'z', 'd')",
    "return redis.call('BLPOP', 'l', 0)",
    "return redis.call('WAIT', 0, 0)",
};

bool is_only_as_7_0(const Words& command) {
  return command.size() > 1 &&
         std::find(only_as_7_0.begin(), only_as_7_0.end(), command[1]) != only_as_7_0.end();
}

std::vector<Words> commands() {
  std::vector<Words> all;
  for (const auto& script : scripts) all.push_back({"EVAL", script, "1", "key", "a", "b"});
  const std::vector<Words> others{
      {"PING"},
      {"ping", "hello"},
      {"PING", "a", "b"},
      {"FOO", "bar", "baz"},
      {"foo"},
      {"GET"},
      {"GET", "a", "b"},
      {"SET", "a"},
      {"DEL"},
      {"BLPOP", "k"},
      {"EVAL", "x"},
      {"ZADD", "z", "1"},
      {"EVALSHA", "abc", "0"},
      {"EVALSHA", "0123456789012345678901234567890123456789", "0"},
      {"EVAL", "return 1", "2", "x"},
      {"EVAL", "return 1", "-1"},
      {"EVAL", "return 1", "x"},
      {"SCRIPT", "LOAD", "return 7"},
      {"EVALSHA", sha1("return 7"), "0"},
      {"EVALSHA", sha1("return 8"), "0"},
      {"SCRIPT", "LOAD", "return ="},
      {"SCRIPT", "EXISTS", sha1("return 7"), sha1("return 8")},
      {"SCRIPT", "FLUSH"},
      {"SCRIPT", "EXISTS", sha1("return 7")},
      {"EVALSHA", sha1("return 7"), "0"},
      {"SCRIPT", "FOO"},
      {"CLUSTER", "SLOTS"},
      {"ASKING"},
      {"ROLE"},
      {"AUTH", "secret"},
      {"AUTH", "nobody", "secret"},
      {"SELECT", "1"},
      {"SET", "other", "1"},
      {"SELECT", "0"},
      {"GET", "other"},
      {"SELECT", "x"},
      {"SELECT", "99"},
      {"EVAL", "redis.call('SELECT', 1) return redis.call('GET', 'other')", "0"},
      {"GET", "other"},
      {"WAIT", "0", "10"},
      {"WAIT", "1", "10"},
      {"WAIT", "x", "1"},
      {"WAIT", "1", "x"},
      {"WAIT", "1", "-1"},
      {"BLPOP", "mail", "x"},
      {"BLPOP", "mail", "-1"},
      {"BLPOP", "z", "1"},
      {"RPUSH", "mail", "a", "b", "c"},
      {"BLPOP", "none", "mail", "0"},
      {"BLPOP", "mail", "z", "0.001"},
      {"BLPOP", "z", "mail", "0"},
      {"LRANGE", "mail", "0", "-1"},
      {"BLPOP", "none", "0.01"},
      {"SCAN", "0", "MATCH", "m*", "COUNT", "1000"},
      {"SCAN", "0", "FOO", "x"},
      {"SCAN", "0", "MATCH"},
      {"SCAN", "0", "MATCH", "*:rlock:[fq]*", "COUNT", "1000"},
      {"DBSIZE"},
      {"CONFIG", "GET", "maxmemory-policy"},
      {"CONFIG", "GET", "save"},
      {"CONFIG", "GET", "min-replicas-to-write"},
      {"CONFIG", "GET", "nothing-like-it"},
      // Out of memory: what grows is refused, and a script only before its first write.
      {"DEL", "k", "z", "l"},
      {"SET", "k", "v"},
      {"CONFIG", "SET", "maxmemory", "1"},
      {"SET", "k", "w"},
      {"RPUSH", "l", "x"},
      {"ZADD", "z", "1", "x"},
      {"PEXPIRE", "k", "100000"},
      {"PERSIST", "k"},
      {"LPOP", "mail"},
      {"GET", "k"},
      {"EVAL", "\nreturn redis.call('SET', 'k', 'x')", "0"},
      {"EVAL", "return redis.pcall('SET', 'k', 'x')", "0"},
      {"EVAL", "return redis.pcall('SET', 'k', 'x').err", "0"},
      {"EVAL", "redis.call('DEL', 'absent') return redis.call('SET', 'k', 'x')", "0"},
      {"EVAL", "redis.call('GET', 'k') return redis.call('SET', 'k', 'y')", "0"},
      {"EVAL", "redis.pcall('SET', 'k', 'x') return redis.call('RPUSH', 'l', 'x')", "0"},
      {"EVAL", "redis.call('PEXPIRE', 'absent', 1) return redis.call('ZADD', 'z', 1, 'x')", "0"},
      {"SCRIPT", "LOAD", "return 9"},
      {"CONFIG", "SET", "maxmemory", "0"},
      {"SET", "k", "w"},
      // A password.
      {"CONFIG", "SET", "requirepass", "secret"},
      {"AUTH", "wrong"},
      {"AUTH", "default", "secret"},
      {"AUTH", "secret"},
      {"AUTH", "nobody", "secret"},
      {"AUTH", "a", "b", "c"},
      {"PING"},
      {"CONFIG", "SET", "requirepass", ""},
      {"FLUSHALL"},
      {"DBSIZE"},
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace

std::size_t compare_wire_cases(const std::string& socket, std::shared_ptr<ScriptEngine> engine) {
  RealRedis real{socket};
  RedisDouble ours{std::move(engine)};
  Session session{ours, 1};
  Micros now = 1'700'000'000'000'000;
  std::size_t differences = 0;
  std::size_t count = 0;
  const bool as_7_0 = real.is_7_0();
  for (const Words& command : commands()) {
    if (!as_7_0 && is_only_as_7_0(command)) continue;
    // In single bytes: a command may arrive in any pieces.
    for (const char byte : encode(command)) session.receive({&byte, 1}, now);
    if (session.client().waits) {
      ours.tick(now += 1'000'000);
      for (const Answered& each : ours.take_answered()) session.answer(each.reply, now);
    }
    RespReader reader;
    reader.feed(session.take_output());
    const auto here = reader.take_reply();
    const Reply there = real.control().ask(command);
    ++count;
    if (here && *here == there) continue;
    ++differences;
    fmt::print("{} differs:\n  double: {}\n  real:   {}\n", shown(command),
               here ? shown(*here) : "no answer", shown(there));
  }
  fmt::print("{} single commands and small scripts: {} differ\n", count, differences);
  return differences;
}

}  // namespace sim
