// A program whose plugin takes a lock and is unloaded again, with name servers that do not answer:
// the library's thread that looks up the name ends after all of that. For
// tests/packaging/library_package.bats.
//
// usage: host PLUGIN SERVER
#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

std::atomic<int> asked{0};
std::atomic<int> answered{0};

}  // namespace

/// In place of the C library's, for the library as well.
extern "C" int getaddrinfo(const char* /*host*/, const char* /*port*/, const addrinfo* hints,
                           addrinfo** /*list*/) {
  if ((hints->ai_flags & AI_NUMERICHOST) != 0) return EAI_NONAME;
  ++asked;
  std::this_thread::sleep_for(6s);
  ++answered;
  return EAI_AGAIN;
}

int main(int argc, char** argv) {
  if (argc != 3) return EXIT_FAILURE;
  void* const plugin = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::cerr << ::dlerror() << '\n';
    return EXIT_FAILURE;
  }
  const auto take = reinterpret_cast<void (*)(const char*)>(::dlsym(plugin, "take_a_lock"));
  const auto start = Clock::now();
  take(argv[2]);
  if (asked == 0 || answered != 0) std::cout << "it waited for the name servers" << std::endl;
  if (Clock::now() - start > 3s) std::cout << "it took too long: " << std::endl;
  if (::dlclose(plugin) != 0) return EXIT_FAILURE;
  while (answered < asked) std::this_thread::sleep_for(10ms);
  std::this_thread::sleep_for(200ms);  // the thread ends
  std::cout << "ended" << std::endl;
}
