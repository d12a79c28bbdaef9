// A plugin that takes a lock, for host.cpp.
#include <rlock/rlock.hpp>

#include <iostream>

/// Asks once, and says what came of it.
extern "C" void take_a_lock(const char* server) {
  const rlock::Server where{server, {.answer_time = std::chrono::milliseconds{500}}};
  auto lock = rlock::try_acquire(where, "plugin");
  if (lock) {
    std::cout << "held" << std::endl;
  } else {
    std::cout << (lock.failure().reason == rlock::Reason::unreachable ? "unreachable"
                                                                      : lock.failure().text)
              << std::endl;
  }
}
