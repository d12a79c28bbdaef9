// One question to the client library, and the functions it answers with.
#pragma once

#include <zookeeper/zookeeper.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/lock_store.hpp"

namespace store::zookeeper {

/// What an error code of the library means.
inline Fault fault_of(int code) {
  switch (code) {
    case ZNOAUTH:
    case ZAUTHFAILED: return {Fault::Kind::denied, zerror(code)};
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZINVALIDSTATE:
    case ZRUNTIMEINCONSISTENCY:  // an answer to another question: the connection is over
    case ZCLOSING:
    case ZSESSIONMOVED:
    case ZSESSIONEXPIRED: return {Fault::Kind::silent, zerror(code)};
    default: return {Fault::Kind::unusable, zerror(code)};
  }
}

/// A node's content.
struct Node {
  std::string data;
  Stat stat;
};

/// One question under way. Its own reference keeps it alive until the library answers, which it
/// does exactly once, at the latest when the session is closed.
template <class Result>
struct Call {
  std::optional<int> code;
  Result result{};
  std::shared_ptr<const void> question{};  // what the library looks at until then, if anything
};
template <class Result>
using Shared = std::shared_ptr<Call<Result>>;

template <class Result>
Shared<Result> claimed(const void* data) {
  const std::unique_ptr<const Shared<Result>> reference{static_cast<const Shared<Result>*>(data)};
  return *reference;
}

inline void done(int code, const void* data) {
  claimed<bool>(data)->code = code;
}
inline void done_stat(int code, const Stat* /*stat*/, const void* data) {
  claimed<bool>(data)->code = code;
}
inline void created(int code, const char* path, const void* data) {
  const auto call = claimed<std::string>(data);
  call->code = code;
  if (path != nullptr) call->result = path;
}
inline void got(int code, const char* text, int size, const Stat* stat, const void* data) {
  const auto call = claimed<Node>(data);
  call->code = code;
  if (text != nullptr && size > 0) call->result.data.assign(text, static_cast<std::size_t>(size));
  if (stat != nullptr) call->result.stat = *stat;
}
inline void listed(int code, const String_vector* names, const void* data) {
  const auto call = claimed<std::vector<std::string>>(data);
  call->code = code;
  for (int i = 0; names != nullptr && i < names->count; ++i) {
    if (names->data[i] == nullptr) {  // the answer announced more than it held
      call->code = ZMARSHALLINGERROR;
      return;
    }
    call->result.emplace_back(names->data[i]);
  }
}

}  // namespace store::zookeeper
