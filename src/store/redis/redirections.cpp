#include "store/redis/redirections.hpp"

#include <algorithm>

namespace store::redis {
namespace {

// Nodes move from address to address; more masters than this a lock does not see in a day.
constexpr std::size_t most_remembered = 8;

// For a node's word, from the far end of the world and over TLS.
constexpr Millis far_away{1'000};

/// The last one has all that is left.
Millis share_of(Millis left, std::size_t nodes) {
  if (nodes == 1) return left;
  return std::max(left / static_cast<Millis::rep>(nodes), std::min(left / 2, far_away));
}

std::variant<Connection, Fault> open_answering(const RedisServer::Address& node,
                                               const RedisServer::Access& access,
                                               const CallLimit& limit) {
  auto opened = Connection::open(node, access, limit);
  auto* connection = std::get_if<Connection>(&opened);
  if (connection == nullptr) return opened;
  auto answer = connection->ask({"PING"}, limit);
  auto* fault = std::get_if<Fault>(&answer);
  // Who may not ask that has an answer all the same.
  if (fault == nullptr || fault->kind == Fault::Kind::denied) return opened;
  return std::move(*fault);
}

}  // namespace

std::optional<RedisServer::Tcp> Redirections::target(std::string_view error) const {
  const auto space = error.rfind(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view address = error.substr(space + 1);
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  RedisServer::Tcp there{std::string{address.substr(0, colon)},
                         std::string{address.substr(colon + 1)}};
  if (there.host.empty()) there.host = host_;
  if (there.host.empty() || there.port.empty()) return std::nullopt;
  return there;
}

bool Redirections::note(std::string_view error) {
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

void Redirections::forget() {
  current_.reset();
  just_sent_ = false;
  ++first_;
}

void Redirections::arrive(const RedisServer::Address& node) {
  just_sent_ = false;
  const auto* tcp = std::get_if<RedisServer::Tcp>(&node);
  host_ = tcp == nullptr ? "" : tcp->host;
  if (tcp == nullptr || current_ != *tcp) current_.reset();
}

std::optional<RedisServer::Tcp> Redirections::just_sent() const {
  return just_sent_ ? current_ : std::nullopt;
}

RedisServer::Nodes Redirections::candidates(const RedisServer::Nodes& given) const {
  RedisServer::Nodes all;
  const auto add = [&](const RedisServer::Address& node) {
    if (std::find(all.begin(), all.end(), node) == all.end()) all.push_back(node);
  };
  for (const auto& node : given) add(node);
  for (const auto& node : seen_) add(node);
  if (!all.empty())
    std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first_ % all.size()),
                all.end());
  if (!current_) return all;
  std::erase(all, RedisServer::Address{*current_});
  all.emplace(all.begin(), *current_);
  return all;
}

std::variant<Arrival, Fault> open_any(const RedisServer::Nodes& nodes,
                                      const RedisServer::Access& access, const CallLimit& limit) {
  const bool only = nodes.size() == 1;
  Fault trouble{Fault::Kind::unreachable, "no server"};
  for (std::size_t nth = 0; nth < nodes.size(); ++nth) {
    const auto& node = nodes[nth];
    const auto now = base::now();
    if (nth > 0 && ended(limit)) break;
    const Millis share = share_of(limit.until.left(now), nodes.size() - nth);
    const CallLimit turn = limit.at_most(Deadline::after(now, share));
    auto opened = only ? Connection::open(node, access, turn) : open_answering(node, access, turn);
    if (auto* connection = std::get_if<Connection>(&opened)) {
      return Arrival{std::move(*connection), node};
    }
    auto& fault = std::get<Fault>(opened);
    const auto* tcp = std::get_if<RedisServer::Tcp>(&node);
    if (tcp != nullptr && !only) fault = on_the_way(*tcp, std::move(fault));
    // Of those that cannot be reached, the best is to be named; what one says counts more.
    if (nth == 0 || fault.kind != Fault::Kind::unreachable) trouble = std::move(fault);
  }
  return trouble;
}

}  // namespace store::redis
