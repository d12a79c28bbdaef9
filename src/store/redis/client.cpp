#include "store/redis/client.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "base/text.hpp"
#include "store/redis/keys.hpp"

namespace store::redis {
namespace {

using Tcp = RedisServer::Tcp;

// Nodes change addresses; a lock does not meet more masters than this in a day.
constexpr std::size_t most_remembered = 8;
// The time for a node's answer, from the far end of the world and over TLS.
constexpr Millis far_away{1'000};
// A server's error is text for people, of any length and content.
constexpr std::size_t longest_redirection = 100;
// A stable Cluster needs one; while it is reconfigured, each node may be a step behind.
constexpr int most_redirections = 5;

// ---- one of several nodes ---------------------------------------------------------------------

/// The last node gets the rest.
Millis share_of(Millis left, std::size_t nodes) {
  if (nodes == 1) return left;
  return std::max(left / static_cast<Millis::rep>(nodes), std::min(left / 2, far_away));
}

Result<Connection> open_answering(const RedisServer::Address& node,
                                  const RedisServer::Access& access, const CallLimit& limit) {
  auto opened = Connection::open(node, access, limit);
  if (!opened) return opened;
  auto answer = opened->ask({"PING"}, limit);
  // A node that forbids the request has also answered.
  if (answer || answer.error().kind == Fault::Kind::denied) return opened;
  return std::move(answer).error();
}

/// Whether a name's addresses are separate servers, as nodes are; two of different families are one
/// server's IPv6 and IPv4.
bool are_several(const std::vector<std::string>& addresses) {
  const auto is_ipv6 = [](const std::string& each) { return each.find(':') != each.npos; };
  const auto ipv6 = std::count_if(addresses.begin(), addresses.end(), is_ipv6);
  return ipv6 > 1 || static_cast<std::ptrdiff_t>(addresses.size()) - ipv6 > 1;
}

struct Arrival {
  Connection connection;
  RedisServer::Address node;
};

/// Connects to the first node that answers. With several nodes, a connection is not an answer: the
/// kernel accepts it even if the server hangs. Each gets a share of the remaining time, enough for
/// a distant node.
Result<Arrival> open_any(const RedisServer::Nodes& nodes, const RedisServer::Access& access,
                         const CallLimit& limit) {
  const bool only = nodes.size() == 1;
  Fault trouble{Fault::Kind::unreachable, "no server"};
  for (std::size_t nth = 0; nth < nodes.size(); ++nth) {
    const auto& node = nodes[nth];
    const auto now = base::now();
    if (nth > 0 && ended(limit)) break;
    const Millis share = share_of(limit.until.left(now), nodes.size() - nth);
    const CallLimit turn = limit.at_most(Deadline::after(now, share));
    auto opened = only ? Connection::open(node, access, turn) : open_answering(node, access, turn);
    if (opened) return Arrival{*std::move(opened), node};
    Fault fault = std::move(opened).error();
    const auto* tcp = std::get_if<Tcp>(&node);
    if (tcp != nullptr && !only) fault = on_the_way(*tcp, std::move(fault));
    // If no node can be reached, the message names the best one; an error reply counts more.
    if (nth == 0 || fault.kind != Fault::Kind::unreachable) trouble = std::move(fault);
  }
  return trouble;
}

// ---- Cluster ----------------------------------------------------------------------------------

/// A redirection that leads nowhere now; it may later.
Fault lost_way(std::string_view error) {
  return {Fault::Kind::unavailable,
          "a redirection that cannot be followed: " + base::printable(error, longest_redirection)};
}

Fault belongs_to(const LockName& lock) {
  return {Fault::Kind::misconfigured,
          fmt::format("this key belongs to the lock '{}', which keeps its own data there",
                      base::printable(lock.text(), LockName::longest))};
}

bool is_redirection(const Reply& reply) {
  return reply.is_error() && !reply.text().starts_with("NOSCRIPT");
}

/// EVALSHA of that script on that lock.
Command call_of(const Script& script, const LockName& name,
                const std::vector<std::string>& arguments,
                const std::optional<Slot>& slot = std::nullopt) {
  const LockKeys keys{name};
  Command command{"EVALSHA",        std::string{script.sha1},
                  slot ? "8" : "7", name.text(),
                  keys.queue,       keys.alive,
                  keys.fence,       keys.held,
                  keys.grants,      keys.runs};
  if (slot) command.push_back(keys.slot + slot->id);
  command.push_back(keys.mailbox);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace

std::optional<Tcp> ClusterRoute::target(std::string_view error) const {
  const auto space = error.rfind(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view address = error.substr(space + 1);
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  Tcp there{std::string{address.substr(0, colon)}, std::string{address.substr(colon + 1)}};
  if (there.host.empty()) there.host = host_;
  if (there.host.empty() || there.port.empty()) return std::nullopt;
  return there;
}

bool ClusterRoute::note(std::string_view error) {
  if (!error.starts_with("MOVED ")) return false;
  auto there = target(error);
  if (!there) return false;
  std::erase(seen_, *there);
  seen_.push_front(*there);
  if (seen_.size() > most_remembered) seen_.pop_back();
  current_ = *std::move(there);
  just_sent_ = true;
  return true;
}

void ClusterRoute::forget() {
  current_.reset();
  just_sent_ = false;
  ++first_;
}

void ClusterRoute::arrive(const RedisServer::Address& node) {
  just_sent_ = false;
  const auto* tcp = std::get_if<Tcp>(&node);
  host_ = tcp == nullptr ? "" : tcp->host;
  if (tcp == nullptr || current_ != *tcp) current_.reset();
}

std::optional<Tcp> ClusterRoute::just_sent() const {
  return just_sent_ ? current_ : std::nullopt;
}

RedisServer::Nodes ClusterRoute::candidates(const RedisServer::Nodes& given) const {
  RedisServer::Nodes all;
  const auto add = [&](const RedisServer::Address& node) {
    if (std::find(all.begin(), all.end(), node) == all.end()) all.push_back(node);
  };
  for (const auto& node : given) add(node);
  for (const auto& node : seen_) add(node);
  if (!all.empty()) {
    std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first_ % all.size()),
                all.end());
  }
  if (!current_) return all;
  std::erase(all, RedisServer::Address{*current_});
  all.emplace(all.begin(), *current_);
  return all;
}

Result<Connection> Client::open(const CallLimit& limit) {
  return base::match(
      server_.where, [&](const RedisServer::Nodes& nodes) { return open_node(nodes, limit); },
      [&](const RedisServer::Sentinels&) { return master_->open(server_.access, limit); });
}

Result<RedisServer::Nodes> Client::spread(RedisServer::Nodes nodes, const CallLimit& limit) {
  addresses_ = 1;
  const auto* name = nodes.size() == 1 ? std::get_if<Tcp>(&nodes.front()) : nullptr;
  if (name == nullptr) return nodes;
  const auto addresses = os::addresses_of(name->host, name->port, limit);
  if (!addresses) return Fault{Fault::Kind::unreachable, addresses.error().text()};
  if (!are_several(*addresses)) return nodes;
  RedisServer::Nodes all;
  for (const auto& each : *addresses) all.emplace_back(Tcp{each, name->port});
  const auto is_of_use = [&](const RedisServer::Address& node) {
    const auto& host = std::get<Tcp>(node).host;
    return std::find(useless_.begin(), useless_.end(), host) == useless_.end();
  };
  // A name server may rotate the order with each answer.
  const auto first_useless = std::stable_partition(all.begin(), all.end(), is_of_use);
  if (first_useless == all.begin()) useless_.clear();
  addresses_ = all.size();
  return all;
}

Result<Connection> Client::open_node(const RedisServer::Nodes& given, const CallLimit& limit) {
  if (const auto there = route_.just_sent()) {
    auto opened = Connection::open(*there, server_.access, limit);
    if (!opened) return on_the_way(*there, std::move(opened).error());
    route_.arrive(*there);
    return opened;
  }
  const auto nodes = spread(route_.candidates(given), limit);
  if (!nodes) return nodes.error();
  auto access = server_.access;
  if (addresses_ > 1 && access.tls && access.tls->name.empty()) {
    // A certificate is for the name.
    access.tls->name = std::get<Tcp>(given.front()).host;
  }
  auto opened = open_any(*nodes, access, limit);
  if (!opened) return std::move(opened).error();
  route_.arrive(opened->node);
  return std::move(opened->connection);
}

Result<base::Done> Client::connect(const CallLimit& limit) {
  if (connection_ && !connection_->hung_up()) {
    limit.note_connected();
    return base::Done{};
  }
  drop();
  auto opened = open(limit);
  if (!opened) return std::move(opened).error();
  connection_ = *std::move(opened);
  return base::Done{};
}

bool Client::follow(std::string_view error) {
  if (!route_.note(error)) return false;
  base::log::trace("sent to another node: {}", base::printable(error, longest_redirection));
  drop();
  return true;
}

Result<Reply> Client::run_script(const Script& script, const LockName& name,
                                 const std::vector<std::string>& arguments, const CallLimit& limit,
                                 const std::optional<Slot>& slot) {
  if (auto owner = owner_of_key(name.text())) return belongs_to(*owner);
  Command command = call_of(script, name, arguments, slot);
  const auto ask_it = [&] {
    auto answer = ask(command, limit);
    unheard_ = !answer && answer.error().kind == Fault::Kind::silent;
    return answer;
  };
  if (!unheard_) {
    auto answer = ask_it();
    if (!answer || !answer->is_error()) return answer;  // otherwise NOSCRIPT
    base::log::trace("the server does not know the script yet: sending it");
  }
  command[0] = "EVAL";
  command[1] = script.body;
  return ask_it();
}

Result<std::vector<std::optional<Reply>>> Client::run_script_on_each(
    const Script& script, std::span<const LockName> names,
    const std::vector<std::string>& arguments, const std::function<CallLimit()>& one_limit) {
  std::vector<Command> commands;
  commands.reserve(names.size());
  for (const auto& name : names) commands.push_back(call_of(script, name, arguments));
  std::vector<std::optional<Reply>> answers;
  auto sent = connect(one_limit());
  if (sent) sent = connection_->send(commands, one_limit());
  while (sent && answers.size() < names.size()) {
    auto answer = connection_->answer(one_limit());
    if (!answer) {
      sent = std::move(answer).error();
    } else {
      answers.push_back(answer->is_error() ? std::nullopt : std::optional{*std::move(answer)});
    }
  }
  if (sent) return answers;
  leave();
  return std::move(sent).error();
}

void Client::follow_master(const CallLimit& limit) {
  if (connection_ && master_ && master_->replaced(server_.access, limit)) drop();
}

void Client::leave() {
  if (connection_ && addresses_ > 1 && useless_.size() < most_remembered)
    useless_.push_back(route_.host());
  drop();
  route_.forget();
}

std::size_t Client::beginnings() const {
  const auto* nodes = std::get_if<RedisServer::Nodes>(&server_.where);
  return nodes == nullptr ? 1 : std::max(route_.candidates(*nodes).size(), addresses_);
}

Result<Reply> Client::ask(const Command& command, const CallLimit& limit) {
  for (std::size_t asked = 1;; ++asked) {
    auto answer = ask_redirected(command, limit);
    if (answer) return answer;
    const auto kind = answer.error().kind;
    const bool sent = route_.sent_to().has_value();
    leave();
    // Repeat elsewhere only a request that had no effect. A node cut off from the others says that
    // it cannot serve; for other refusals, the node with the key is the authority.
    const bool elsewhere =
        kind == Fault::Kind::unreachable || (kind == Fault::Kind::unavailable && !sent);
    if (!elsewhere || asked >= beginnings() || ended(limit)) return std::move(answer).error();
  }
}

Result<Reply> Client::ask_same_connection(const Command& command, const CallLimit& limit) {
  // connect() would open another one.
  if (!connection_ || connection_->hung_up()) {
    leave();
    return Fault{Fault::Kind::silent, "the connection is gone"};
  }
  auto answer = ask_one_node(command, limit);
  if (!answer) leave();
  return answer;
}

Result<Reply> Client::ask_redirected(const Command& command, const CallLimit& limit) {
  for (int redirected = 0; redirected < most_redirections; ++redirected) {
    auto answer = ask_one_node(command, limit);
    if (!answer || !is_redirection(*answer)) return answer;
    const auto error = answer->text();
    if (error.starts_with("ASK ")) return ask_importing_node(error, command, limit);
    if (!follow(error)) return lost_way(error);
  }
  return Fault{Fault::Kind::unavailable,
               "the nodes of the Cluster send each other's clients around"};
}

Result<Reply> Client::ask_one_node(const Command& command, const CallLimit& limit) {
  if (auto connected = connect(limit); !connected) return std::move(connected).error();
  auto answer = connection_->ask(command, limit);
  const auto& sent_to = route_.sent_to();
  if (!answer && sent_to) return named(*sent_to, std::move(answer).error());
  return answer;
}

Result<Reply> Client::ask_importing_node(std::string_view error, const Command& command,
                                         const CallLimit& limit) {
  // While a slot moves, its keys are here or there, which does not affect the next command. But our
  // own connection must not be asked about a command that ran there.
  const auto there = route_.target(error);
  if (!there) return lost_way(error);
  drop();
  auto opened = Connection::open(*there, server_.access, limit);
  if (!opened) return on_the_way(*there, std::move(opened).error());
  auto allowed = opened->ask({"ASKING"}, limit);
  if (!allowed) return on_the_way(*there, std::move(allowed).error());
  auto answer = opened->ask(command, limit);
  if (!answer) return named(*there, std::move(answer).error());
  if (!is_redirection(*answer)) return answer;
  return lost_way(answer->text());
}

Result<base::Done> Client::send(const Command& command, const CallLimit& limit) {
  auto sent = connect(limit);
  if (sent) sent = connection_->send(command, limit);
  if (!sent) leave();
  return sent;
}

Result<std::optional<Reply>> Client::receive(const CallLimit& limit) {
  if (!connection_) return Fault{Fault::Kind::unreachable, "not connected"};
  auto answer = connection_->receive(limit);
  if (!answer) drop();
  return answer;
}

Command blocking_pop(const std::vector<std::string>& keys, Millis timeout) {
  const auto ms = std::max<std::int64_t>(timeout.count(), 1);
  Command command{"BLPOP"};
  command.insert(command.end(), keys.begin(), keys.end());
  command.push_back(fmt::format("{}.{:03}", ms / 1000, ms % 1000));
  return command;
}

}  // namespace store::redis
