// The keys of a lock: all in its Cluster slot, and no two locks share one.
#include <doctest/doctest.h>

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

TEST_CASE("a fence or queue key names its lock, other keys name none") {
  for (const auto& name : names) {
    const LockKeys keys{*LockName::from(name)};
    CHECK(redis::lock_of_key(keys.fence) == LockName::from(name));
    CHECK(redis::lock_of_key(keys.queue) == LockName::from(name));
    CHECK_FALSE(redis::lock_of_key(keys.held));
    CHECK_FALSE(redis::lock_of_key(keys.mailbox));
  }
  CHECK_FALSE(redis::lock_of_key("a"));
  CHECK_FALSE(redis::lock_of_key("a:rlock:queue"));
  CHECK_FALSE(redis::lock_of_key("{a}:rlock:other"));
  CHECK_FALSE(redis::lock_of_key("{}:rlock:queue"));
}

}  // namespace unit::store_redis_keys
