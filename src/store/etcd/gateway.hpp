// The JSON gateway of an etcd cluster (v3): questions to one member after another, each for a short
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "store/etcd/cluster.hpp"
#include "store/etcd/connection.hpp"
#include "store/etcd/text.hpp"
#include "store/lock_store.hpp"

namespace store::etcd {

/// The codes of gRPC that the code acts on.
enum class Code : std::int64_t {
  none = 0,  // also: no answer
  invalid = 3,
  not_found = 5,
  denied = 7,
  exhausted = 8,
  precondition = 9,
  unavailable = 14,
  unauthenticated = 16
};

/// Why there is no answer, or the error that it told.
struct Trouble {
  Fault fault;
  std::int64_t code = 0;
  std::string message{};  // as the server wrote it

  [[nodiscard]] bool is(Code which) const { return code == static_cast<std::int64_t>(which); }
  [[nodiscard]] bool says(std::string_view text) const {
    return message.find(text) != std::string::npos;
  }
};

/// The answer of a member, or the error in it.
base::Result<Json, Trouble> meaning_of(const HttpAnswer& answer);

/// Whether a question may be asked again if its answer was lost.
enum class Repeat { no, yes };

class Gateway {
 public:
  // One member's time for an answer: a healthy one needs some milliseconds. A member that has lost
  // its leader would answer after seven seconds.
  static constexpr Millis longest_wait{2'000};
  // Between two tries of a question.
  static constexpr Millis longest_pause{500};

  explicit Gateway(Etcd cluster) : cluster_{std::move(cluster)} {}

  struct Reply {
    Json json;
    Moment sent_at;  // the moment before the question that was answered was sent
  };
  /// Asks the current member, then the others. A question that must not be repeated is asked again
  /// only if it certainly had no effect. Every error that is final, and the last one otherwise.
  base::Result<Reply, Trouble> ask(const char* path, const std::string& body, Repeat repeat,
                                   const CallLimit& limit);
  /// Sends a question whose answer nobody waits for.
  void post(const char* path, const std::string& body, const CallLimit& limit);

  /// Opens a connection to the first member that accepts one, unless there is one.
  Result<base::Done> connect(const CallLimit& limit);
  /// Gives up the current member for the next one.
  void leave_member();

  /// A connection to the current member for a stream, on which `body` has been sent.
  Result<std::unique_ptr<Connection>> open_stream(const char* path, const std::string& body,
                                                  const CallLimit& limit);
  /// Whether a member has answered the last question, if only with an error.
  [[nodiscard]] bool is_heard() const { return is_heard_; }
  /// Another number after each change of the member.
  [[nodiscard]] unsigned member_changes() const { return changes_; }
  /// Whether the cluster turned out to have no authentication, although the URL names a user.
  [[nodiscard]] bool has_no_auth() const { return has_no_auth_; }
  /// The server refused our token: the next question authenticates again.
  void forget_token() { token_.clear(); }

 private:
  [[nodiscard]] const HostPort& member() const {
    return cluster_.members[at_ % cluster_.members.size()];
  }
  [[nodiscard]] const TlsSettings* tls() const { return cluster_.tls ? &*cluster_.tls : nullptr; }
  /// `share`: of the time, for the answer.
  base::Result<Reply, Trouble> ask_once(const char* path, const std::string& body,
                                        const CallLimit& share, const CallLimit& limit,
                                        bool& was_sent);
  Result<base::Done> authenticate(const CallLimit& limit);
  [[nodiscard]] bool shows_secret(std::string_view text) const;

  Etcd cluster_;
  std::size_t at_ = 0;  // the current member
  unsigned changes_ = 0;
  std::unique_ptr<Connection> connection_;
  std::string token_;
  bool has_no_auth_ = false;  // the cluster lets everybody in
  bool has_answered_ = false;
  bool is_heard_ = false;  // the last question
  bool hung_up_ = false;   // the last question had no answer, and time for one
};

}  // namespace store::etcd
