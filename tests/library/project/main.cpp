// usage: main SERVER KEY
#include <rlock/rlock.hpp>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const rlock::Server server{argv[1]};
  auto lock = rlock::try_acquire(server, argv[2]);
  if (!lock) {
    std::cerr << lock.failure().text << '\n';
    return 75;
  }
  const auto released = lock->release();
  std::cout << (released == rlock::Released::yes ? "held and released" : "lost") << '\n';
}
