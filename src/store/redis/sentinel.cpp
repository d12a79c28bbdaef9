#include "store/redis/sentinel.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace store::redis {
namespace {

using Tcp = RedisServer::Tcp;

std::variant<Tcp, Fault> ask_for_master(const Tcp& sentinel, const std::string& name,
                                        const RedisServer::Access& access, const CallLimit& limit) {
  auto opened = Connection::open(sentinel, access, limit);
  if (auto* fault = std::get_if<Fault>(&opened)) return std::move(*fault);
  auto answer =
      std::get<Connection>(opened).ask({"SENTINEL", "get-master-addr-by-name", name}, limit);
  if (auto* fault = std::get_if<Fault>(&answer)) return std::move(*fault);
  const Reply& reply = std::get<Reply>(answer);
  if (reply.size() != 2) {
    return Fault{Fault::Kind::unavailable,
                 fmt::format("knows no master '{}'", base::printable(name))};
  }
  return Tcp{std::string{reply[0].text()}, std::string{reply[1].text()}};
}

/// A server without the right to say so is believed: a replica refuses to write anyway.
std::optional<Fault> refuse_replica(Connection& server, const CallLimit& limit) {
  auto answer = server.ask({"ROLE"}, limit);
  if (auto* fault = std::get_if<Fault>(&answer)) {
    if (fault->kind == Fault::Kind::denied) return std::nullopt;
    return std::move(*fault);
  }
  if (std::get<Reply>(answer)[0].text() == "master") return std::nullopt;
  return Fault{Fault::Kind::unavailable, "is named as master, and is not (yet)"};
}

std::variant<Connection, Fault> open_checked(const Tcp& master, const RedisServer::Access& access,
                                             const CallLimit& limit) {
  auto opened = Connection::open(master, access, limit);
  if (auto* connection = std::get_if<Connection>(&opened)) {
    if (auto fault = refuse_replica(*connection, limit)) return on_the_way(master, *fault);
    return opened;
  }
  return on_the_way(master, std::get<Fault>(std::move(opened)));
}

}  // namespace

std::variant<Connection, Fault> open_master(const RedisServer::Sentinels& sentinels,
                                            const RedisServer::Access& access,
                                            const CallLimit& limit) {
  Fault trouble{Fault::Kind::unreachable, "no sentinel"};
  std::size_t left = sentinels.nodes.size();
  for (const Tcp& node : sentinels.nodes) {
    const auto now = base::now();
    const auto share = limit.until.left(now) / static_cast<Millis::rep>(left--);
    const CallLimit turn = limit.at_most(Deadline::after(now, share));
    auto named = ask_for_master(node, sentinels.master, {sentinels.login, 0, access.tls}, turn);
    if (auto* fault = std::get_if<Fault>(&named)) {
      trouble = on_the_way(node, std::move(*fault));
      continue;
    }
    auto opened = open_checked(std::get<Tcp>(named), access, turn);
    if (std::holds_alternative<Connection>(opened)) return opened;
    trouble = std::get<Fault>(std::move(opened));
    if (trouble.kind == Fault::Kind::denied) break;  // the master's word, and not the sentinel's
  }
  return trouble;
}

}  // namespace store::redis
