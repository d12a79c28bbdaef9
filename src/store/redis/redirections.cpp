#include "store/redis/redirections.hpp"

#include <algorithm>

namespace store::redis {

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
  return true;
}

RedisServer::Nodes Redirections::candidates(const RedisServer::Nodes& given) const {
  RedisServer::Nodes all;
  if (current_) all.emplace_back(*current_);
  all.insert(all.end(), given.begin(), given.end());
  all.insert(all.end(), seen_.begin(), seen_.end());
  return all;
}

std::variant<Connection, Fault> open_any(const RedisServer::Nodes& nodes,
                                         const RedisServer::Access& access,
                                         const Patience& patience) {
  Fault trouble{Fault::Kind::unreachable, "no server"};
  auto left = static_cast<Millis::rep>(nodes.size());
  for (const auto& node : nodes) {
    const auto now = base::now();
    const Deadline turn = Deadline::after(now, patience.until.left(now) / left--);
    auto opened = Connection::open(node, access, patience.at_most(turn));
    if (std::holds_alternative<Connection>(opened)) return opened;
    trouble = std::get<Fault>(std::move(opened));
  }
  return trouble;
}

}  // namespace store::redis
