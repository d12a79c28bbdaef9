#include "store/redis/openssl.hpp"

#include <dlfcn.h>

namespace store::redis {
namespace {

// What the headers that this was compiled with belong to.
constexpr auto library = "libssl.so.3";

std::variant<OpenSsl, std::string> load() {
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::string{"TLS needs "} + library + ": " + ::dlerror();
  OpenSsl ssl;
  const char* missing = nullptr;
  // libcrypto, on which libssl depends, is searched as well.
#define RLOCK_FIND(name)                                                   \
  ssl.name = reinterpret_cast<decltype(ssl.name)>(::dlsym(handle, #name)); \
  if (ssl.name == nullptr) missing = #name;
  RLOCK_OPENSSL_FUNCTIONS(RLOCK_FIND)
#undef RLOCK_FIND
  if (missing != nullptr) return std::string{library} + " has no " + missing;
  return ssl;
}

}  // namespace

const std::variant<OpenSsl, std::string>& openssl() {
  static const auto loaded = load();
  return loaded;
}

}  // namespace store::redis
