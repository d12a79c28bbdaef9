// The keys of a lock: all in its Cluster slot, and no two locks share one.
#include <doctest/doctest.h>
#include <fnmatch.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "store/redis/keys.hpp"

namespace unit::store_redis_keys {

using namespace store;
using redis::LockKeys;

namespace {

/// CRC-16/XMODEM of the tag, as the Cluster specification has it (its own check value is below).
unsigned crc16(std::string_view text) {
  unsigned crc = 0;
  for (const char c : text) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1) ^ ((crc & 0x8000U) != 0 ? 0x1021U : 0U);
    crc &= 0xFFFFU;
  }
  return crc;
}

unsigned slot_of(std::string_view key) {
  const auto open = key.find('{');
  if (open != key.npos) {
    const auto close = key.find('}', open + 1);
    if (close != key.npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  return crc16(key) % 16384;
}

std::vector<std::string> keys_of(const std::string& name) {
  const LockKeys keys{*LockName::from(name)};
  return {keys.queue, keys.alive, keys.fence, keys.held, keys.grants, keys.mailbox};
}

const std::vector<std::string> names{"a",    "deploy prod", "{a}",   "{a}b",         "x{a}y",
                                     "{a}.", "{a}..",       "{{a}}", "a:rlock:queue"};

}  // namespace

TEST_CASE("the slot is the one of the Cluster specification") {
  CHECK(crc16("123456789") == 0x31C3);
  CHECK(slot_of("foo{bar}{zap}") == slot_of("bar"));
  CHECK(slot_of("foo{}{bar}") == crc16("foo{}{bar}") % 16384);
}

TEST_CASE("all keys of a lock lie in its slot") {
  for (const auto& name : names) {
    for (const auto& key : keys_of(name)) CHECK_MESSAGE(slot_of(key) == slot_of(name), key);
  }
}

TEST_CASE("an untagged name is the tag of its keys, a tagged one begins them") {
  CHECK(keys_of("a")[0] == "{a}:rlock:queue");
  CHECK(keys_of("{a}b")[0] == "{a}b:rlock:queue");
  CHECK(keys_of("{a}")[0] == "{a}.:rlock:queue");
  CHECK(keys_of("{a}.")[0] == "{a}..:rlock:queue");
}

TEST_CASE("no two locks share a key") {
  std::set<std::string> all;
  for (const auto& name : names) {
    for (const auto& key : keys_of(name)) CHECK_MESSAGE(all.insert(key).second, key);
  }
}

TEST_CASE("every companion has an owner, other keys have none") {
  for (const auto& name : names) {
    const LockKeys keys{*LockName::from(name)};
    for (const auto& key : {keys.queue, keys.alive, keys.fence, keys.held, keys.grants,
                            keys.mailbox + "token", keys.mailbox + "a:rlock:other"}) {
      CHECK_MESSAGE(redis::owner_of_key(key) == LockName::from(name), key);
    }
  }
  for (const char* key : {"a", "a:rlock:queue", "{a}:rlock:other", "{}:rlock:queue",
                          "a:rlock:mail:x", "{a}:rlock:mail"}) {
    CHECK_MESSAGE(!redis::owner_of_key(key), key);
  }
}

TEST_CASE("a list knows its locks by their fence, queue and runs, and asks for these keys alone") {
  using store::Listed;
  struct Case {
    std::string LockKeys::*key;
    bool in_use;
    bool remembered;
  };
  const Case cases[]{{&LockKeys::fence, true, false},    {&LockKeys::queue, true, false},
                     {&LockKeys::runs, false, true},     {&LockKeys::held, false, false},
                     {&LockKeys::grants, false, false},  {&LockKeys::alive, false, false},
                     {&LockKeys::mailbox, false, false}, {&LockKeys::slot, false, false}};
  for (const auto& text : names) {
    const auto name = LockName::from(text);
    const LockKeys keys{*name};
    for (const Case& each : cases) {
      const std::string& key = keys.*each.key;
      const auto is_listed = [&](Listed which) {
        const auto found = redis::lock_listed_by(key, which);
        CHECK_MESSAGE((!found || found == name), key);
        if (found)
          CHECK(::fnmatch(std::string{redis::glob_of(which)}.c_str(), key.c_str(), 0) == 0);
        return found.has_value();
      };
      CHECK_MESSAGE(is_listed(Listed::in_use) == each.in_use, key);
      CHECK_MESSAGE(is_listed(Listed::remembered) == each.remembered, key);
      CHECK_MESSAGE(is_listed(Listed::known) == (each.in_use || each.remembered), key);
    }
  }
  for (const char* key : {"a", "a:rlock:queue", "{a}:rlock:other", "{}:rlock:queue"}) {
    CHECK_MESSAGE(!redis::lock_listed_by(key, Listed::known), key);
  }
}

}  // namespace unit::store_redis_keys
