// What a server has to do for the rules to work on it: keep a record for each lock, change it by
// compare-and-swap, and carry words to those who listen.
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

/// A record as it stood at one instant.
struct Snapshot {
  std::string text{};         // empty: there is none
  std::uint64_t version = 0;  // another one with each change; 0: there is none
  std::uint64_t now_us = 0;   // since 1970, by the server's clock, looked at after the record
};

/// A change of a record, if nobody was quicker and what decided it is not too old.
struct Swap {
  std::uint64_t version;    // that it has now
  std::uint64_t latest_us;  // nothing is done once the server's clock is later than that
  std::string text;         // empty: it goes
  std::int64_t ends_ms;     // since 1970, by the server's clock: from then on nothing in it counts
  std::vector<rules::Post> posts;
  bool must_last;  // a grant, a refresh, the end of a slot: somebody trusts in it also after a
                   // crash of the server
};

/// A change that was done.
struct Written {
  std::uint64_t version;  // that it has now
  std::uint64_t now_us;   // the server's clock, not before the change was asked for
};
/// What became of a swap. A snapshot: nothing was done, and so it stands now; with the version of
/// the swap it is no news, and only a read tells.
using Swapped = std::variant<Written, Snapshot>;

/// The record of one lock among others.
struct Named {
  std::string name;
  Snapshot snapshot;
};

/// Whether posts arrive at a connection.
enum class Posts {
  arrive,
  do_not_arrive,  // something is in between: whoever waits looks again
};

/// A connection to such a server. One thread at a time; each call is bounded by its limit.
class Records {
 public:
  Records() = default;
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  virtual ~Records() = default;

  virtual Result<Snapshot> read(const LockName& name, const CallLimit& limit) = 0;
  /// The posts go out with the change or not at all, in their order.
  virtual Result<Swapped> swap(const LockName& name, const Swap& swap, const CallLimit& limit) = 0;
  /// Some of the locks that have a record: those whose names come next behind `after`, in order of
  /// their bytes. None: there are no more.
  virtual Result<std::vector<Named>> page(const std::string& after, const CallLimit& limit) = 0;

  /// From now on the posts of that lock to `whom` arrive at this connection, and no others; or none
  /// does.
  virtual Result<Posts> listen(const LockName& name, const std::string& whom,
                               const CallLimit& limit) = 0;
  /// Readable when take() may have something to say; -1 without a connection.
  [[nodiscard]] virtual int descriptor() const = 0;
  /// A post; nothing if none has come. Never blocks. A fault: listen again.
  virtual Result<std::optional<std::string>> take() = 0;
};

using OpenRecords = std::function<std::unique_ptr<Records>()>;

/// The contract of a store, kept by the rules above such a server.
std::unique_ptr<LockStore> open_store(OpenRecords open);
std::unique_ptr<LockAdmin> open_admin(const OpenRecords& open);

}  // namespace store::records
