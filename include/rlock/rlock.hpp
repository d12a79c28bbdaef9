// Locks that every machine respects, for C++20 programs: what rlock(1) does for a command.
//
//     rlock::Server server{"redis://locks.example.net"};
//     if (auto lock = rlock::try_acquire(server, "report:daily")) {
//       write(lock->fence());
//       while (more() && !lock->lost().stop_requested()) step();
//     }  // released
//
// See rlock(3). Nothing here throws but std::bad_alloc. Strings are UTF-8 or any other bytes.
// No signal handler, no fork handler, no output: a program stays as it is.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rlock {
inline namespace v0 {

using Millis = std::chrono::milliseconds;
inline constexpr Millis forever = Millis::max();

// ---- a server ----

/// A line of a log, as `rlock --verbose` writes it. Never contains a secret.
struct LogLine {
  enum class Severity { error, notice, detail, trace };
  Severity severity;
  std::string_view text;  // no newline; valid during the call
};

struct ServerOptions {
  std::string password{};       // if the URL has none
  std::string password_file{};  // as well; read again when a server refuses the password
  Millis answer_time{5'000};    // a server that takes longer for one answer counts as silent
  std::string label{};          // of our tokens, for people; empty: the program's name
  /// Called by any thread of ours or yours, by several at once; must not throw, nor use the server.
  std::function<void(const LogLine&)> log{};
  LogLine::Severity log_up_to = LogLine::Severity::detail;
};

/// The server of locks, by any URL that rlock(1) takes: redis:, rediss:, sentinel and cluster
/// forms, postgresql:, etcd:, zk:, file:, or several of Redis, separated by blanks, for a quorum.
/// Connects when it is first needed. A handle: copies are the same server. Any thread may use it;
/// while it is assigned or destroyed, no other.
///
/// All locks of a server are refreshed by one thread, which begins with the first lock and ends
/// with the last handle or lock. A silent server delays no lock of another one.
class Server {
 public:
  /// A bad URL is reported by the first acquisition: Reason::misconfigured.
  explicit Server(std::string_view url, ServerOptions options = {});
  Server(const Server&);
  Server(Server&&) noexcept;
  Server& operator=(const Server&);
  Server& operator=(Server&&) noexcept;
  ~Server();

  /// The URL without a password.
  [[nodiscard]] const std::string& shown() const;

  struct Impl;
  [[nodiscard]] const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// ---- why a lock was not acquired ----

enum class Reason {
  busy,           // another holder, and we do not wait
  timed_out,      // another holder for as long as we waited
  crowded,        // max_waiters wait already
  stopped,        // `stop` was requested
  dismissed,      // somebody cancelled our wait, or a newer run superseded it
  incompatible,   // others use the key in another mode
  unreachable,    // no connection
  silent,         // no answer in time
  unavailable,    // the server refuses for now: it starts, is read-only, has no memory
  denied,         // the password, or the permissions
  unusable,       // not a server of locks, or an unexpected answer
  misconfigured,  // the URL or an option
  exhausted       // this process has no descriptor or thread to spare
};

/// "busy", "timed-out".
std::string_view name_of(Reason reason);

struct Holder {
  std::string token;   // as the server stores it
  std::string shown;   // "app@web1:42/job.sh"
  std::string reason;  // what it wants the lock for; may be empty
  std::optional<Millis> held_for{};
  std::optional<Millis> expires_in{};
};

struct Failure {
  Reason reason;
  std::string text;  // a sentence for people
  std::string key{};
  std::optional<Holder> holder{};
  std::size_t waiters = 0;  // besides us
};

// ---- a lock ----

/// Exclusive unless it says otherwise. All users of a key at one time must agree.
struct Mode {
  enum class Kind { exclusive, shared, permits };
  Kind kind = Kind::exclusive;
  unsigned permits = 1;
  std::vector<std::string> names{};

  static Mode exclusive() { return {}; }
  static Mode shared() { return {Kind::shared}; }
  /// One of `number` holders at a time.
  static Mode one_permit_of(unsigned number) { return {Kind::permits, number}; }
  /// One of these names; resource() says which.
  static Mode one_of(std::vector<std::string> names) {
    const auto number = static_cast<unsigned>(names.size());
    return {Kind::permits, number, std::move(names)};
  }
};

struct Loss {
  enum class Kind {
    gone,      // the lock has been lost for certain
    unsafe,    // it could not be refreshed, and its lease ends within `grace`
    cancelled  // somebody asks us to stop; we hold it until we release it, or lose it
  };
  Kind kind;
  std::string text;  // a sentence for people
};

struct Options {
  Millis ttl{30'000};  // a holder that vanishes blocks the lock for that long; refreshed meanwhile
  Millis wait{forever};  // acquire() only
  Mode mode{};
  std::stop_token stop{};  // ends the wait
  std::string label{};     // as the server's, for this lock
  std::string reason{};    // what for, for people; up to 200 bytes
  std::optional<unsigned> max_waiters{};
  Millis grace{0};  // lost() is requested that long before the lease ends; 0: a sixth of `ttl`, at
                    // most 5 s
  Millis min_hold{0};  // the lock stays taken for that long, however early it is released
  Millis history{
      std::chrono::hours{24 * 7}};  // `rlock log` has the run for that long; 0: not at all
  /// Called by the server's thread, once lost() is requested; of a lock that was cancelled once
  /// more, should it be lost before it is released. Must not throw. Should return soon, as what
  /// lost() calls back should: no lock of the server is refreshed meanwhile. That thread blocks all
  /// signals.
  std::function<void(const Loss&)> on_lost{};
};

enum class Released {
  yes,
  lost_before,  // what was done under it may have overlapped with another holder
  unheard       // the server did not answer: the lock ends with its lease
};

/// Holds one or several locks until it is released or destroyed; the destructor releases it and
/// waits for on_lost, unless a callback of ours runs it. Move-only. One thread at a time,
/// except for lost(), loss(), valid_for() and descriptor(): any thread.
///
/// In a child after fork() it holds nothing: loss() says so, a token that lost() gives there is
/// requested (one from before the fork is not), and release() and the destructor do nothing. A lock
/// on file: needs more, see rlock(3).
class Lock {
 public:
  Lock(Lock&&) noexcept;
  Lock& operator=(Lock&&) noexcept;
  ~Lock();

  /// Increases with every grant of the key: write it with what you change, and refuse a lower one
  /// there. Of several keys, the first one's.
  [[nodiscard]] std::uint64_t fence() const;
  /// 0 if it is not one of the keys.
  [[nodiscard]] std::uint64_t fence(std::string_view key) const;
  [[nodiscard]] const std::string& token() const;
  /// Its number, from 1; 0: the lock is exclusive or shared.
  [[nodiscard]] unsigned permit() const;
  /// The permit's name; empty: it has none.
  [[nodiscard]] const std::string& resource() const;
  /// In run_once(): which run for its slot this is, from 1; 0 elsewhere.
  [[nodiscard]] unsigned attempt() const;

  /// Requested when the work must stop. Safe to ask often.
  [[nodiscard]] std::stop_token lost() const;
  /// Why, once it is requested.
  [[nodiscard]] std::optional<Loss> loss() const;
  /// Readable once lost() is requested, for poll(2). Not yours to close. -1 if this process had
  /// none to spare, or is a child of the one that holds the lock.
  [[nodiscard]] int descriptor() const;
  /// For how long no other can have it for certain, if no refresh succeeds any longer; `forever` if
  /// it does not expire. 0 if it is lost.
  [[nodiscard]] Millis valid_for() const;

  /// At most two seconds, also while on_lost runs in the thread of the server. Later calls say the
  /// same.
  Released release();

  struct Impl;
  explicit Lock(std::unique_ptr<Impl> impl);
  /// None after a move.
  [[nodiscard]] Impl* impl() { return impl_.get(); }

 private:
  std::unique_ptr<Impl> impl_;
};

/// A lock, or why there is none.
class [[nodiscard]] Acquired {
 public:
  Acquired(Lock lock) : lock_{std::move(lock)} {}
  Acquired(Failure failure) : failure_{std::move(failure)} {}

  explicit operator bool() const { return lock_.has_value(); }
  Lock& operator*() { return *lock_; }
  const Lock& operator*() const { return *lock_; }
  Lock* operator->() { return &*lock_; }
  const Lock* operator->() const { return &*lock_; }
  /// Only if there is no lock.
  [[nodiscard]] const Failure& failure() const { return *failure_; }

 private:
  std::optional<Lock> lock_{};
  std::optional<Failure> failure_{};
};

/// One attempt; `wait` does not count.
Acquired try_acquire(const Server& server, std::string_view key, const Options& options = {});
/// Waits for its turn, in the order of arrival.
Acquired acquire(const Server& server, std::string_view key, const Options& options = {});
/// All or none. Every program takes them in the same order, so that no two wait for each other.
Acquired try_acquire(const Server& server, const std::vector<std::string>& keys,
                     const Options& options = {});
Acquired acquire(const Server& server, const std::vector<std::string>& keys,
                 const Options& options = {});
inline Acquired try_acquire(const Server& server, std::initializer_list<std::string_view> keys,
                            const Options& options = {}) {
  return try_acquire(server, std::vector<std::string>(keys.begin(), keys.end()), options);
}
inline Acquired acquire(const Server& server, std::initializer_list<std::string_view> keys,
                        const Options& options = {}) {
  return acquire(server, std::vector<std::string>(keys.begin(), keys.end()), options);
}

// ---- work that is done once ----

/// The end of run_once() for a slot: "2026-11-27" of a nightly job that several hosts begin.
struct Once {
  enum class Kind {
    ran,          // here: `code` is what the work returned, and the server knows it
    done_before,  // by another run: `code` is its exit code
    open,         // the work ran here, and another run may do it again: `why`
    failed        // no lock: `failure` says why
  };
  Kind kind;
  int code = 0;
  std::optional<Failure> failure{};
  std::string why{};  // a sentence for people: the lock was lost or cancelled, `work` released it,
                      // or the server did not hear of the end
};

/// Runs `work` under the lock `key` unless a run for `slot` has ended before; then the slot is
/// done, unless `work` returned another code than 0 and `retries` are left. Waits for other runs.
/// An exception of `work` leaves the slot open and passes.
Once run_once(const Server& server, std::string_view key, std::string_view slot,
              const std::function<int(Lock&)>& work, const Options& options = {},
              unsigned retries = 0);

}  // namespace v0
}  // namespace rlock
