#include "store/redis/redirections.hpp"

#include <algorithm>

namespace store::redis {
namespace {

std::variant<Connection, Fault> open_answering(const RedisServer::Address& node,
                                               const RedisServer::Access& access,
                                               const Patience& patience) {
  auto opened = Connection::open(node, access, patience);
  auto* connection = std::get_if<Connection>(&opened);
  if (connection == nullptr) return opened;
  auto answer = connection->ask({"PING"}, patience);
  auto* fault = std::get_if<Fault>(&answer);
  // Who may not ask that has an answer all the same.
  if (fault == nullptr || fault->kind == Fault::Kind::denied) return opened;
  return std::move(*fault);
}

}  // namespace

std::optional<RedisServer::Tcp> Redirections::target(std::string_view error) {
  const auto space = error.rfind(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view address = error.substr(space + 1);
  const auto colon = address.rfind(':');
  // A node that does not know its own name leaves it out; we could not tell which one that is.
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  return RedisServer::Tcp{std::string{address.substr(0, colon)},
                          std::string{address.substr(colon + 1)}};
}

bool Redirections::note(std::string_view error) {
  if (!error.starts_with("MOVED ")) return false;
  auto there = target(error);
  if (!there) return false;
  if (std::find(seen_.begin(), seen_.end(), *there) == seen_.end()) seen_.push_back(*there);
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
  if (tcp == nullptr || current_ != *tcp) current_.reset();
}

std::optional<RedisServer::Tcp> Redirections::just_sent() const {
  return just_sent_ ? current_ : std::nullopt;
}

RedisServer::Nodes Redirections::candidates(const RedisServer::Nodes& given) const {
  RedisServer::Nodes all;
  if (current_) all.emplace_back(*current_);
  for (std::size_t nth = 0; nth < given.size(); ++nth) {
    all.push_back(given[(first_ + nth) % given.size()]);
  }
  all.insert(all.end(), seen_.begin(), seen_.end());
  return all;
}

std::variant<Arrival, Fault> open_any(const RedisServer::Nodes& nodes,
                                      const RedisServer::Access& access, const Patience& patience) {
  const bool only = nodes.size() == 1;
  Fault trouble{Fault::Kind::unreachable, "no server"};
  auto left = static_cast<Millis::rep>(nodes.size());
  for (const auto& node : nodes) {
    const auto now = base::now();
    const Patience turn = patience.at_most(Deadline::after(now, patience.until.left(now) / left--));
    auto opened = only ? Connection::open(node, access, turn) : open_answering(node, access, turn);
    if (auto* connection = std::get_if<Connection>(&opened)) {
      return Arrival{std::move(*connection), node};
    }
    trouble = std::get<Fault>(std::move(opened));
    const auto* tcp = std::get_if<RedisServer::Tcp>(&node);
    if (tcp != nullptr && !only) trouble = on_the_way(*tcp, std::move(trouble));
  }
  return trouble;
}

}  // namespace store::redis
