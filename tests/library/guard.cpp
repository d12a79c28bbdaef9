// Holds a lock by the library's header alone, for tests/servers/library.bats.
//
// usage: guard [OPTION=VALUE]... SERVER KEY FILE
//   options: wait (ms), ttl (ms), label, reason, shared, permits, slot, code
//
// Writes "started FENCE" once it has the lock, holds it until FILE is there, and then "released" or
// "lost: WHY". Exit codes as rlock's.
#include <rlock/rlock.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int held_by_another = 75;
constexpr int no_server = 69;
constexpr int lock_lost = 76;

struct Wish {
  rlock::Options options;
  std::string slot;
  int code = 0;
  std::vector<std::string> operands;
};

Wish wish_in(const std::vector<std::string>& words) {
  Wish wish;
  for (const auto& word : words) {
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals);
    const auto value = equals == word.npos ? "" : word.substr(equals + 1);
    if (name == "wait") {
      wish.options.wait = rlock::Millis{std::stoi(value)};
    } else if (name == "ttl") {
      wish.options.ttl = rlock::Millis{std::stoi(value)};
    } else if (name == "label") {
      wish.options.label = value;
    } else if (name == "reason") {
      wish.options.reason = value;
    } else if (name == "shared") {
      wish.options.mode = rlock::Mode::shared();
    } else if (name == "permits") {
      wish.options.mode = rlock::Mode::one_permit_of(static_cast<unsigned>(std::stoi(value)));
    } else if (name == "slot") {
      wish.slot = value;
    } else if (name == "code") {
      wish.code = std::stoi(value);
    } else {
      wish.operands.push_back(word);
    }
  }
  return wish;
}

int code_of(const rlock::Failure& failure) {
  std::cerr << name_of(failure.reason) << ": " << failure.text << '\n';
  using rlock::Reason;
  switch (failure.reason) {
    case Reason::busy:
    case Reason::timed_out:
    case Reason::crowded: return held_by_another;
    case Reason::dismissed: return lock_lost;
    default: return no_server;
  }
}

void work(rlock::Lock& lock, const std::string& file) {
  std::cout << "started " << lock.fence() << std::endl;
  while (!lock.lost().stop_requested() && !std::filesystem::exists(file)) {
    std::this_thread::sleep_for(20ms);
  }
}

int tell(rlock::Lock& lock, int code) {
  const auto loss = lock.loss();
  const auto released = lock.release();
  if (loss) std::cout << "lost: " << loss->text << std::endl;
  if (released == rlock::Released::yes) std::cout << "released" << std::endl;
  return loss ? lock_lost : code;
}

}  // namespace

int main(int argc, char** argv) {
  const auto wish = wish_in({argv + 1, argv + argc});
  if (wish.operands.size() != 3) return EXIT_FAILURE;
  const rlock::Server server{wish.operands[0]};
  const auto& key = wish.operands[1];
  const auto& file = wish.operands[2];
  if (!wish.slot.empty()) {
    const auto once = rlock::run_once(
        server, key, wish.slot,
        [&](rlock::Lock& lock) {
          work(lock, file);
          return wish.code;
        },
        wish.options);
    if (once.failure) return code_of(*once.failure);
    if (once.kind == rlock::Once::Kind::done_before) std::cout << "done before" << std::endl;
    return once.kind == rlock::Once::Kind::open ? lock_lost : once.code;
  }
  auto lock = rlock::acquire(server, key, wish.options);
  if (!lock) return code_of(lock.failure());
  work(*lock, file);
  return tell(*lock, wish.code);
}
