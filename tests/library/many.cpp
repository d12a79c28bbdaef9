// Holds many locks of one server in one process, for tests/servers/library_many.bats.
//
// usage: many SERVER KEY NUMBER FILE
//
// Takes KEY.1 to KEY.NUMBER for 3 s each, and writes "started" and the number of its threads.
// Writes "lost NAME" for each that is lost, which it releases. Once FILE is there it releases all,
// and writes "released" and how many.
#include <rlock/rlock.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <thread>

using namespace std::chrono_literals;

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
  if (argc != 5) return EXIT_FAILURE;
  const rlock::Server server{argv[1]};
  std::map<std::string, rlock::Lock> held;
  for (int i = 1; i <= std::stoi(argv[3]); ++i) {
    auto key = argv[2] + ("." + std::to_string(i));
    auto lock = rlock::try_acquire(server, key, {.ttl = 3s});
    if (!lock) {
      std::cerr << lock.failure().text << '\n';
      return EXIT_FAILURE;
    }
    held.emplace(std::move(key), std::move(*lock));
  }
  std::cout << "started " << threads() << std::endl;
  while (!std::filesystem::exists(argv[4])) {
    std::erase_if(held, [](auto& each) {
      if (!each.second.lost().stop_requested()) return false;
      std::cout << "lost " << each.first << ": " << each.second.loss()->text << std::endl;
      return true;
    });
    std::this_thread::sleep_for(20ms);
  }
  std::size_t ours = 0;
  for (auto& each : held) ours += each.second.release() == rlock::Released::yes ? 1 : 0;
  std::cout << "released " << ours << std::endl;
}
