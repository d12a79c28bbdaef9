// A connection to one member of an etcd cluster: requests, and their answers in the same order.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "os/poll.hpp"
#include "store/answers.hpp"
#include "store/etcd/http.hpp"
#include "store/lock_store.hpp"
#include "store/tls/settings.hpp"
#include "store/url.hpp"

namespace store::etcd {

/// The bytes to and from a server.
class Wire {
 public:
  Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  virtual ~Wire() = default;

  [[nodiscard]] virtual int descriptor() const = 0;
  /// Neither waits. 0: nothing could be done now, and wants() is what that waits for.
  virtual Result<std::size_t> receive(std::string& into, std::size_t most) = 0;
  virtual Result<std::size_t> send(std::string_view bytes) = 0;
  [[nodiscard]] virtual os::Want wants() const = 0;
};

/// `tls`: nullptr for none.
Result<std::unique_ptr<Wire>> open_wire(const HostPort& member, const TlsSettings* tls,
                                        const CallLimit& limit);

struct HttpAnswer {
  int status;
  std::string body;
};

/// Closed for good after the first fault, so that no late answer is taken for a later one's.
class Connection {
 public:
  /// Of one answer, and of a part of a stream. 50,000 names of waiters are some 12 MB.
  static constexpr std::size_t longest_answer = std::size_t{16} << 20;
  static constexpr std::size_t longest_part = std::size_t{4} << 20;

  static Result<std::unique_ptr<Connection>> open(const HostPort& member, const TlsSettings* tls,
                                                  const CallLimit& limit);

  [[nodiscard]] int descriptor() const { return wire_->descriptor(); }
  /// Whether another request may be sent.
  [[nodiscard]] bool is_usable() const;

  /// Nothing was carried out if this fails: the request was not sent completely.
  Result<base::Done> send(std::string_view path, std::string_view token, std::string_view body,
                          const CallLimit& limit);
  /// The answer to the last request; those to earlier ones are passed over.
  Result<HttpAnswer> answer(const CallLimit& limit);

  /// The part of the only answer on this connection, a stream, that has arrived: never waits. Its
  /// status has to be 200, or it is all one part.
  struct Part {
    std::string text;
    int status = 0;  // 0: not yet known
    bool ended = false;
  };
  Result<Part> arrived();

 private:
  Connection(std::unique_ptr<Wire> wire, std::string host)
      : wire_{std::move(wire)}, host_{std::move(host)} {}
  Fault broken(Fault fault);
  Result<bool> read_more();
  Result<HttpAnswer> next_answer(const CallLimit& limit);

  std::unique_ptr<Wire> wire_;
  std::string host_;
  std::string bytes_;   // received and not yet read
  int unanswered_ = 0;  // requests whose answer is still to be read
  bool is_over_ = false;
  AnswerReader stream_{longest_part};
};

}  // namespace store::etcd
