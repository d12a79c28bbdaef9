// The watches of a session: one stream of /v3/watch, opened anew when they change.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "store/etcd/backoff.hpp"
#include "store/etcd/gateway.hpp"
#include "store/sessions/session.hpp"

namespace store::etcd {

/// The changes that a line of the stream tells of.
struct WatchNews {
  struct Event {
    std::string key;
    bool is_gone = false;
  };
  std::vector<Event> events{};
  bool is_compacted = false;  // the revisions from which we watch are gone: look again
  bool is_over = false;       // the server ended the watch
};
/// Nothing if the line makes no sense.
std::optional<WatchNews> news_in(std::string_view line);

/// A watch begins behind the revision at which the key was read, so that no change is missed,
/// whatever happens to connections.
class Watches {
 public:
  using Change = sessions::Session::Change;

  static constexpr std::size_t most_keys = 16;
  static constexpr Millis longest_pause{1'000};
  // A stream that lasted for this time ends the back-off.
  static constexpr Millis proves_itself{2'000};

  /// The keys that are added from now on are wanted together.
  void begin_round() { round_ = added_; }
  /// Watches a key that was read at that revision. An earlier watch of it ends, and so does the
  /// oldest of an earlier round if there are too many.
  void add(const std::string& key, std::uint64_t revision);
  /// The change since the last call. A change ends the watch.
  Change change_of(const std::string& key);

  /// Whether open() has something to do; no sooner than due().
  [[nodiscard]] bool wants_stream(const Gateway& gateway) const;
  [[nodiscard]] Deadline due() const { return due_; }
  void open(Gateway& gateway, const CallLimit& limit);
  /// Takes what has arrived; never waits.
  void receive(Gateway& gateway);
  void close() { stream_.reset(); }
  /// -1 while there is no stream.
  [[nodiscard]] int descriptor() const { return stream_ ? stream_->descriptor() : -1; }

 private:
  void take(const WatchNews& news);
  void lose_stream();

  struct Watch {
    std::uint64_t after;  // the revision
    std::uint64_t number;
  };
  std::map<std::string, Watch> watched_;
  std::map<std::string, Change> changed_;
  std::uint64_t added_ = 0;
  std::uint64_t round_ = 0;  // how many were added before it
  bool is_stale_ = false;    // the stream does not watch all
  std::unique_ptr<Connection> stream_;
  unsigned member_changes_ = 0;  // when the stream was opened
  std::optional<Moment> opened_at_;
  std::string text_;  // a line that has not ended
  Backoff pauses_{longest_pause};
  Deadline due_ = Deadline::at(Moment{});
};

}  // namespace store::etcd
