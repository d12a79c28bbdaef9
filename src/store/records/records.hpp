// The requirements on a server for the rules to work: it keeps a record for each lock, changes it
// by compare-and-swap, and passes posts to listeners.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "store/lock_store.hpp"
#include "store/rules/decide.hpp"

namespace store::records {

/// A record at one instant.
struct Snapshot {
  std::string text{};         // empty: none exists
  std::uint64_t version = 0;  // changes with each change of the record; 0: none exists
  std::uint64_t now_us = 0;   // since 1970, by the server's clock, read after the record
};

/// A change of a record, made only if nobody else changed it and its decision is not too old.
struct Swap {
  std::uint64_t version;    // the current version
  std::uint64_t latest_us;  // no change after that server time
  std::string text;         // empty: delete the record
  std::int64_t ends_ms;     // since 1970, by the server's clock: nothing in it is valid after that
  std::vector<rules::Post> posts;
  bool must_last;  // a grant, a refresh or the end of a slot: clients rely on it even after a crash
                   // of the server
};

/// A change that was made.
struct Written {
  std::uint64_t version;  // the new version
  std::uint64_t now_us;   // the server's clock, not before the request
};
/// The result of a swap. A Snapshot: nothing was changed, and this is the current record; if it has
/// the version of the swap, it is old and only a read helps.
using Swapped = std::variant<Written, Snapshot>;

/// The record of one lock in a list.
struct Named {
  std::string name;
  Snapshot snapshot;
};

/// Whether posts arrive at a connection.
enum class Posts {
  arrive,
  do_not_arrive,  // something in between drops them: waiters must poll
};

/// A connection to such a server. One thread at a time; each call ends within its limit.
class Records {
 public:
  Records() = default;
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  virtual ~Records() = default;

  virtual Result<Snapshot> read(const LockName& name, const CallLimit& limit) = 0;
  /// Sends the posts with the change or not at all, in order.
  virtual Result<Swapped> swap(const LockName& name, const Swap& swap, const CallLimit& limit) = 0;
  /// The next locks with a record, in byte order of their names after `after`. None: the end.
  virtual Result<std::vector<Named>> page(const std::string& after, const CallLimit& limit) = 0;

  /// From now on the lock's posts to `whom`, and no others, arrive at this connection; or none do.
  virtual Result<Posts> listen(const LockName& name, const std::string& whom,
                               const CallLimit& limit) = 0;
  /// Readable when take() may have a post; -1 without a connection.
  [[nodiscard]] virtual int descriptor() const = 0;
  /// The next post; nothing if there is none. Never blocks. After a Fault, listen again.
  virtual Result<std::optional<std::string>> take() = 0;
};

using OpenRecords = std::function<std::unique_ptr<Records>()>;

/// The contract of a store, kept by applying the rules on such a server.
std::unique_ptr<LockStore> open_store(OpenRecords open);
std::unique_ptr<LockAdmin> open_admin(const OpenRecords& open);

}  // namespace store::records
