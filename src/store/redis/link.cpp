#include "store/redis/link.hpp"

#include <fmt/format.h>

#include "base/result.hpp"
#include "base/text.hpp"
#include "store/redis/companions.hpp"
#include "store/redis/sentinel.hpp"

namespace store::redis {
namespace {

// An answer of a server is for people, and may be anything.
constexpr std::size_t longest_redirection = 100;
// A Cluster at rest needs one; while it is changed, each node may be a step behind.
constexpr int most_redirections = 5;

/// A redirection that leads nowhere: in another moment it may.
Fault lost_way(std::string_view error) {
  return {Fault::Kind::unavailable,
          "a redirection that cannot be followed: " + base::printable(error, longest_redirection)};
}

}  // namespace

std::variant<Connection, Fault> Link::open(const CallLimit& limit) {
  return base::match(
      server_.where, [&](const RedisServer::Nodes& nodes) { return open_node(nodes, limit); },
      [&](const RedisServer::Sentinels& sentinels) {
        return open_master(sentinels, server_.access, limit);
      });
}

std::variant<Connection, Fault> Link::open_node(const RedisServer::Nodes& given,
                                                const CallLimit& limit) {
  if (const auto there = redirections_.just_sent()) {
    auto opened = Connection::open(*there, server_.access, limit);
    if (auto* fault = std::get_if<Fault>(&opened)) return on_the_way(*there, std::move(*fault));
    redirections_.arrive(*there);
    return opened;
  }
  auto opened = open_any(redirections_.candidates(given), server_.access, limit);
  if (auto* fault = std::get_if<Fault>(&opened)) return std::move(*fault);
  auto& [connection, node] = std::get<Arrival>(opened);
  redirections_.arrive(node);
  return std::move(connection);
}

std::optional<Fault> Link::connect(const CallLimit& limit) {
  if (connection_) return std::nullopt;
  auto opened = open(limit);
  if (auto* fault = std::get_if<Fault>(&opened)) return std::move(*fault);
  connection_ = std::get<Connection>(std::move(opened));
  return std::nullopt;
}

bool Link::follow(std::string_view error) {
  if (!redirections_.note(error)) return false;
  drop();
  return true;
}

std::variant<Reply, Fault> Link::run(const Script& script, const LockName& name,
                                     const std::vector<std::string>& arguments,
                                     const CallLimit& limit) {
  const Companions keys{name};
  Command command{"EVALSHA",   std::string{script.sha1},
                  "6",         name.text(),
                  keys.queue,  keys.alive,
                  keys.fence,  keys.held,
                  keys.grants, keys.mailbox};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto answer = ask(command, limit);
  const auto* reply = std::get_if<Reply>(&answer);
  if (reply == nullptr || !reply->is_error()) return answer;  // else NOSCRIPT
  command[0] = "EVAL";
  command[1] = script.body;
  return ask(command, limit);
}

void Link::leave() {
  drop();
  redirections_.forget();
}

std::size_t Link::beginnings() const {
  const auto* nodes = std::get_if<RedisServer::Nodes>(&server_.where);
  return nodes == nullptr ? 1 : redirections_.candidates(*nodes).size();
}

std::variant<Reply, Fault> Link::ask(const Command& command, const CallLimit& limit) {
  for (std::size_t asked = 1;; ++asked) {
    auto answer = ask_around(command, limit);
    const auto* fault = std::get_if<Fault>(&answer);
    if (fault == nullptr) return answer;
    const bool sent = redirections_.sent_to().has_value();
    leave();
    // Only what did not happen may be asked elsewhere. A node that is cut off from the others says
    // that it cannot; the one that has the key knows best what it can.
    const bool elsewhere = fault->kind == Fault::Kind::unreachable ||
                           (fault->kind == Fault::Kind::unavailable && !sent);
    if (!elsewhere || asked >= beginnings() || ended(limit)) return answer;
  }
}

std::variant<Reply, Fault> Link::ask_again(const Command& command, const CallLimit& limit) {
  if (!connection_) return Fault{Fault::Kind::silent, "the connection is gone"};
  auto answer = ask_here(command, limit);
  if (std::holds_alternative<Fault>(answer)) leave();
  return answer;
}

std::variant<Reply, Fault> Link::ask_around(const Command& command, const CallLimit& limit) {
  for (int redirected = 0; redirected < most_redirections; ++redirected) {
    auto answer = ask_here(command, limit);
    const auto* reply = std::get_if<Reply>(&answer);
    if (reply == nullptr || !reply->is_error() || reply->text().starts_with("NOSCRIPT"))
      return answer;
    if (reply->text().starts_with("ASK ")) return ask_there(reply->text(), command, limit);
    if (!follow(reply->text())) return lost_way(reply->text());
  }
  return Fault{Fault::Kind::unavailable,
               "the nodes of the Cluster send each other's clients around"};
}

std::variant<Reply, Fault> Link::ask_here(const Command& command, const CallLimit& limit) {
  if (auto fault = connect(limit)) return *std::move(fault);
  auto answer = connection_->ask(command, limit);
  auto* fault = std::get_if<Fault>(&answer);
  const auto& sent_to = redirections_.sent_to();
  return fault != nullptr && sent_to ? named(*sent_to, std::move(*fault)) : std::move(answer);
}

std::variant<Reply, Fault> Link::ask_there(std::string_view error, const Command& command,
                                           const CallLimit& limit) {
  // While a slot moves, its keys are here or there; that changes nothing for the next command. But
  // what was done there is no business of the connection that we have.
  const auto there = redirections_.target(error);
  if (!there) return lost_way(error);
  drop();
  auto opened = Connection::open(*there, server_.access, limit);
  if (auto* fault = std::get_if<Fault>(&opened)) return on_the_way(*there, std::move(*fault));
  auto& connection = std::get<Connection>(opened);
  auto allowed = connection.ask({"ASKING"}, limit);
  if (auto* fault = std::get_if<Fault>(&allowed)) return on_the_way(*there, std::move(*fault));
  auto answer = connection.ask(command, limit);
  if (auto* fault = std::get_if<Fault>(&answer)) return named(*there, std::move(*fault));
  const Reply& reply = std::get<Reply>(answer);
  if (!reply.is_error() || reply.text().starts_with("NOSCRIPT")) return answer;
  return lost_way(reply.text());
}

std::optional<Fault> Link::send(const Command& command, const CallLimit& limit) {
  auto fault = connect(limit);
  if (!fault) fault = connection_->send(command, limit);
  if (fault) leave();
  return fault;
}

std::variant<Reply, Fault, std::monostate> Link::receive(const CallLimit& limit) {
  if (!connection_) return Fault{Fault::Kind::unreachable, "not connected"};
  auto answer = connection_->receive(limit);
  if (std::holds_alternative<Fault>(answer)) drop();
  return answer;
}

Command blocking_pop(const std::string& key, Millis timeout) {
  const auto ms = std::max<std::int64_t>(timeout.count(), 1);
  return {"BLPOP", key, fmt::format("{}.{:03}", ms / 1000, ms % 1000)};
}

}  // namespace store::redis
