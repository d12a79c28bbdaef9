// Holds many locks of one server in one process, for tests/servers/library_many.bats.
//
// usage: many SERVER KEY NUMBER FILE [TTL [TTL-OF-NEXT]]
//
// Takes KEY.1 to KEY.NUMBER for 3 s each, and writes "started" and the number of its threads.
// Once FILE.next is there it takes KEY.next as well, and writes "next".
// Writes "lost NAME" for each that is lost, which it releases if a server says so, and "late NAME"
// if its lease was over by then. Once FILE is there it releases all, and writes "released" and how
// many. TTL: in ms, 3000; that of KEY.next is the same, unless given.
#include <rlock/rlock.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

std::string threads() {
  std::ifstream status{"/proc/self/status"};
  for (std::string word; status >> word;) {
    if (word == "Threads:" && status >> word) return word;
  }
  return "?";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return EXIT_FAILURE;
  const rlock::Server server{argv[1], {.answer_time = 1s}};
  const rlock::Millis ttl{argc > 5 ? std::stoi(argv[5]) : 3'000};
  const rlock::Millis ttl_of_next{argc > 6 ? std::stoi(argv[6]) : ttl.count()};
  std::map<std::string, rlock::Lock> held;
  std::map<std::string, Clock::time_point> ends;
  std::vector<rlock::Lock> unsafe;
  for (int i = 1; i <= std::stoi(argv[3]); ++i) {
    auto key = argv[2] + ("." + std::to_string(i));
    auto lock = rlock::try_acquire(server, key, {.ttl = ttl});
    if (!lock) {
      std::cerr << lock.failure().text << '\n';
      return EXIT_FAILURE;
    }
    held.emplace(std::move(key), std::move(*lock));
  }
  std::cout << "started " << threads() << std::endl;
  const std::string file{argv[4]};
  const std::string next = argv[2] + std::string{".next"};
  while (!std::filesystem::exists(file)) {
    if (std::filesystem::exists(file + ".next")) {
      if (auto lock = rlock::try_acquire(server, next, {.ttl = ttl_of_next})) {
        held.emplace(next, std::move(*lock));
        std::filesystem::remove(file + ".next");
        std::cout << "next" << std::endl;
      }
    }
    for (auto each = held.begin(); each != held.end();) {
      auto& [name, lock] = *each;
      const auto now = Clock::now();
      const auto left = lock.valid_for();
      if (!lock.lost().stop_requested()) {
        ends[name] = std::max(ends[name], now + left);
        ++each;
        continue;
      }
      std::cout << "lost " << name << ": " << lock.loss()->text << std::endl;
      if (ends[name] < now) std::cout << "late " << name << std::endl;
      // A silent server would take two seconds for the release of each.
      if (lock.loss()->kind == rlock::Loss::Kind::unsafe) unsafe.push_back(std::move(lock));
      each = held.erase(each);
    }
    std::this_thread::sleep_for(20ms);
  }
  std::size_t ours = 0;
  for (auto& each : held) ours += each.second.release() == rlock::Released::yes ? 1 : 0;
  std::cout << "released " << ours << std::endl;
}
