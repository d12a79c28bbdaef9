#include "store/etcd/connection.hpp"

#include <algorithm>

#include "os/net.hpp"
#include "store/tls/tls.hpp"

namespace store::etcd {
namespace {

constexpr std::size_t bytes_at_once = std::size_t{64} << 10;

/// Without encryption.
class PlainWire final : public Wire {
 public:
  explicit PlainWire(os::Fd socket) : socket_{std::move(socket)} {}

  [[nodiscard]] int descriptor() const override { return socket_.number(); }
  Result<std::size_t> receive(std::string& into, std::size_t most) override {
    wants_ = os::Want::read;
    auto got = os::receive(socket_.number(), into, most);
    if (!got) return Fault{Fault::Kind::silent, got.error().text()};
    return *got;
  }
  Result<std::size_t> send(std::string_view bytes) override {
    wants_ = os::Want::write;
    auto sent = os::send(socket_.number(), bytes);
    if (!sent) return Fault{Fault::Kind::silent, sent.error().text()};
    return *sent;
  }
  [[nodiscard]] os::Want wants() const override { return wants_; }

 private:
  os::Fd socket_;
  os::Want wants_ = os::Want::read;
};

class TlsWire final : public Wire {
 public:
  TlsWire(os::Fd socket, std::unique_ptr<tls::Session> session)
      : socket_{std::move(socket)}, session_{std::move(session)} {}

  [[nodiscard]] int descriptor() const override { return socket_.number(); }
  Result<std::size_t> receive(std::string& into, std::size_t most) override {
    const auto before = into.size();
    into.resize(before + most);
    const auto got = session_->read(into.data() + before, most);
    into.resize(before + static_cast<std::size_t>(std::max<std::ptrdiff_t>(got, 0)));
    return outcome_of(got);
  }
  Result<std::size_t> send(std::string_view bytes) override {
    return outcome_of(session_->write(bytes.data(), bytes.size()));
  }
  [[nodiscard]] os::Want wants() const override { return session_->wants(); }

 private:
  [[nodiscard]] Result<std::size_t> outcome_of(std::ptrdiff_t count) const {
    if (count >= 0) return static_cast<std::size_t>(count);
    const auto kind = session_->is_refused() ? Fault::Kind::denied : Fault::Kind::silent;
    return Fault{kind, session_->why()};
  }

  os::Fd socket_;
  std::unique_ptr<tls::Session> session_;
};

/// Why a wait ended without the descriptor being ready.
Fault unready(os::Ready ready) {
  const bool interrupted = ready == os::Ready::interrupted;
  return {Fault::Kind::silent, interrupted ? std::string{cut_short} : "no answer in time"};
}

}  // namespace

Result<std::unique_ptr<Wire>> open_wire(const HostPort& member, const TlsSettings* tls,
                                        const CallLimit& limit) {
  auto socket = os::connect_tcp(member.host, member.port, limit);
  if (!socket) return Fault{Fault::Kind::unreachable, socket.error().text()};
  limit.note_connected();
  if (tls != nullptr) {
    auto session = tls::start(socket->number(), *tls, member.host, limit);
    if (!session) return std::move(session).error();
    return std::unique_ptr<Wire>{
        std::make_unique<TlsWire>(*std::move(socket), *std::move(session))};
  }
  return std::unique_ptr<Wire>{std::make_unique<PlainWire>(*std::move(socket))};
}

Result<std::unique_ptr<Connection>> Connection::open(const HostPort& member, const TlsSettings* tls,
                                                     const CallLimit& limit) {
  auto wire = open_wire(member, tls, limit);
  if (!wire) return std::move(wire).error();
  const bool is_ipv6 = member.host.find(':') != std::string::npos;
  std::string host = (is_ipv6 ? "[" + member.host + "]" : member.host) + ":" + member.port;
  return std::unique_ptr<Connection>{new Connection{*std::move(wire), std::move(host)}};
}

bool Connection::is_usable() const {
  if (is_over_) return false;
  // Bytes that nobody has asked for: a farewell, or the answer to no request of ours.
  if (unanswered_ == 0) return bytes_.empty() && !os::is_readable(wire_->descriptor());
  return !os::is_hung_up(wire_->descriptor());
}

Fault Connection::broken(Fault fault) {
  is_over_ = true;
  return fault;
}

Result<base::Done> Connection::send(std::string_view path, std::string_view token,
                                    std::string_view body, const CallLimit& limit) {
  const auto request = post_request(host_, path, token, body);
  for (std::string_view rest{request}; !rest.empty();) {
    const auto sent = wire_->send(rest);
    if (!sent) return broken(sent.error());
    rest.remove_prefix(*sent);
    if (*sent > 0) continue;
    const auto ready = os::wait_for(wire_->descriptor(), wire_->wants(), limit);
    if (ready != os::Ready::yes) return broken(unready(ready));
  }
  ++unanswered_;
  return base::Done{};
}

/// Whether something was received; an error at the end of the connection.
Result<bool> Connection::read_more() {
  const auto got = wire_->receive(bytes_, bytes_at_once);
  if (!got) return broken(got.error());
  return *got > 0;
}

Result<HttpAnswer> Connection::next_answer(const CallLimit& limit) {
  AnswerReader reader{longest_answer};
  for (;;) {
    if (auto read = reader.read(bytes_); !read) {
      return broken({Fault::Kind::unusable, std::move(read).error()});
    }
    if (reader.is_complete()) break;
    auto more = read_more();
    if (!more) {
      if (!reader.end()) return std::move(more).error();
      break;
    }
    if (*more) continue;
    const auto ready = os::wait_for(wire_->descriptor(), wire_->wants(), limit);
    if (ready != os::Ready::yes) return broken(unready(ready));
  }
  --unanswered_;
  if (!reader.keeps_connection()) is_over_ = true;
  return HttpAnswer{reader.status(), reader.take_body()};
}

Result<HttpAnswer> Connection::answer(const CallLimit& limit) {
  while (unanswered_ > 1) {
    if (auto earlier = next_answer(limit); !earlier) return earlier;
    if (is_over_) return Fault{Fault::Kind::silent, "the server closed the connection"};
  }
  return next_answer(limit);
}

Result<Connection::Part> Connection::arrived() {
  Part part;
  for (;;) {
    if (auto read = stream_.read(bytes_); !read) {
      return broken({Fault::Kind::unusable, std::move(read).error()});
    }
    if (stream_.has_head()) part.status = stream_.status();
    part.text += stream_.take_body();
    part.ended = stream_.is_complete();
    if (part.ended) return part;
    if (part.text.size() > longest_part) {  // a server that sends without end
      return broken({Fault::Kind::unusable, "a part of a stream that is too long"});
    }
    auto more = read_more();
    if (!more) {
      if (!part.text.empty()) return part;  // the next call says it
      return std::move(more).error();
    }
    if (!*more) return part;
  }
}

}  // namespace store::etcd
