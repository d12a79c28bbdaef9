// The cost of a lock in a program that is connected: acquire and release, in microseconds.
//
// usage: library SOCKET ROUNDS
//
// Prints a line for each contestant, from rounds in turns: "NAME MEDIAN QUARTILE QUARTILE".
//   bare     the library's two commands, sent by hiredis alone: the floor
//   set-nx   SET NX PX and the usual script that deletes the key if it is ours: no queue, no fence
//   library  rlock::try_acquire and release
//   redis++  redis-plus-plus' RedLock on one server, if it is there
#include <hiredis/hiredis.h>
#include <rlock/rlock.hpp>
#if __has_include(<sw/redis++/recipes/redlock.h>)
#include <sw/redis++/recipes/redlock.h>
#include <sw/redis++/redis++.h>
#define HAS_REDIS_PLUS_PLUS 1
#endif

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

class Redis {
 public:
  explicit Redis(const std::string& socket) : context_{redisConnectUnix(socket.c_str())} {
    if (context_ == nullptr || context_->err != 0) std::exit(EXIT_FAILURE);
  }
  ~Redis() { redisFree(context_); }
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;

  void ask(const Words& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const auto& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    auto* reply = static_cast<redisReply*>(
        redisCommandArgv(context_, static_cast<int>(words.size()), texts.data(), sizes.data()));
    if (reply == nullptr || reply->type == REDIS_REPLY_ERROR) {
      std::cerr << "library: " << (reply != nullptr ? reply->str : context_->errstr) << '\n';
      std::exit(EXIT_FAILURE);
    }
    freeReplyObject(reply);
  }
  /// A line that MONITOR shows, as words.
  Words next_command() {
    void* reply = nullptr;
    if (redisGetReply(context_, &reply) != REDIS_OK) std::exit(EXIT_FAILURE);
    auto* line = static_cast<redisReply*>(reply);
    auto words = words_in({line->str, line->len});
    freeReplyObject(line);
    return words;
  }

 private:
  static Words words_in(const std::string& line) {
    Words words;
    for (auto begin = line.find('"'); begin != line.npos; begin = line.find('"', begin + 1)) {
      std::string word;
      for (++begin; line[begin] != '"'; ++begin) {
        if (line[begin] != '\\') {
          word += line[begin];
        } else if (line[++begin] == 'x') {
          word += static_cast<char>(std::stoi(line.substr(begin + 1, 2), nullptr, 16));
          begin += 2;
        } else {
          const char c = line[begin];
          word += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
        }
      }
      words.push_back(std::move(word));
    }
    return words;
  }

  redisContext* context_;
};

/// The two commands of a lock and its release, with their token.
struct Recorded {
  Words acquire;
  Words release;
  std::string token;

  [[nodiscard]] Words with(const Words& words, const std::string& other) const {
    auto result = words;
    for (auto& word : result) {
      for (auto at = word.find(token); at != word.npos; at = word.find(token, at + other.size())) {
        word.replace(at, token.size(), other);
      }
    }
    return result;
  }
};

Recorded record(const std::string& socket, const rlock::Server& server,
                const rlock::Options& options) {
  Redis monitor{socket};
  monitor.ask({"MONITOR"});
  Recorded recorded;
  auto lock = rlock::try_acquire(server, "library:bare", options);
  if (!lock) std::exit(EXIT_FAILURE);
  recorded.token = lock->token();
  lock->release();
  const auto next = [&] {
    for (;;) {
      auto words = monitor.next_command();
      if (!words.empty() && words.front() == "EVALSHA") return words;
    }
  };
  recorded.acquire = next();
  recorded.release = next();
  return recorded;
}

std::string fresh_token(const std::string& like, int number) {
  auto digits = std::to_string(number);
  return like.substr(0, like.size() - digits.size()) + digits;
}

struct Contestant {
  std::string name;
  std::function<void(int)> prepare;  // not counted
  std::function<void()> round;
  std::vector<double> times{};
};

double at(std::vector<double>& times, double share) {
  const auto place = static_cast<std::ptrdiff_t>(static_cast<double>(times.size() - 1) * share);
  std::nth_element(times.begin(), times.begin() + place, times.end());
  return times[static_cast<std::size_t>(place)];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return EXIT_FAILURE;
  const std::string socket = argv[1];
  const int rounds = std::stoi(argv[2]);
  const rlock::Server server{"unix://" + socket};
  const rlock::Options options{};
  for (int i = 0; i < 10; ++i) (void)rlock::try_acquire(server, "library:warm", options);
  const auto recorded = record(socket, server, options);
  Redis bare{socket};
  std::vector<Contestant> all;
  Words acquire;
  Words release;
  all.push_back({"bare",
                 [&](int round) {
                   const auto token = fresh_token(recorded.token, round);
                   acquire = recorded.with(recorded.acquire, token);
                   release = recorded.with(recorded.release, token);
                 },
                 [&] {
                   bare.ask(acquire);
                   bare.ask(release);
                 }});
  all.push_back({"set-nx",
                 [&](int round) {
                   const auto token = std::to_string(round);
                   acquire = {"SET", "library:set-nx", token, "NX", "PX", "30000"};
                   release = {"EVAL",
                              "if redis.call('get', KEYS[1]) == ARGV[1] then "
                              "return redis.call('del', KEYS[1]) end return 0",
                              "1", "library:set-nx", token};
                 },
                 [&] {
                   bare.ask(acquire);
                   bare.ask(release);
                 }});
  all.push_back({"library", [](int) {},
                 [&] {
                   auto lock = rlock::try_acquire(server, "library:own", options);
                   if (!lock || lock->release() != rlock::Released::yes) std::exit(EXIT_FAILURE);
                 }});
#ifdef HAS_REDIS_PLUS_PLUS
  sw::redis::ConnectionOptions connection;
  connection.type = sw::redis::ConnectionType::UNIX;
  connection.path = socket;
  sw::redis::Redis plus_plus{connection};
  sw::redis::RedLockMutex mutex{plus_plus, "library:redis++"};
  all.push_back({"redis++", [](int) {},
                 [&] {
                   sw::redis::RedLock lock{mutex, std::defer_lock};
                   if (!lock.try_lock(std::chrono::seconds{30})) std::exit(EXIT_FAILURE);
                   lock.unlock();
                 }});
#endif
  for (int round = 0; round < rounds; ++round) {
    for (auto& each : all) {
      each.prepare(round);
      const auto began = Clock::now();
      each.round();
      each.times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - began).count());
    }
  }
  for (auto& each : all) {
    std::cout << each.name << ' ' << at(each.times, 0.5) << ' ' << at(each.times, 0.25) << ' '
              << at(each.times, 0.75) << '\n';
  }
}
