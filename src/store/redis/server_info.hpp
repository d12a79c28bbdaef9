// What a Redis server says of itself.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "store/redis/link.hpp"

namespace store::redis {

/// The answers of INFO and CONFIG GET, as far as they may be asked for.
class ServerInfo {
 public:
  ServerInfo(Link& link, const CallLimit& limit);

  /// A line of INFO, or a parameter; nothing if unknown or forbidden.
  [[nodiscard]] std::optional<std::string> line(const std::string& name) const;
  [[nodiscard]] std::optional<std::string> parameter(const std::string& name) const;

 private:
  std::map<std::string, std::string> lines_;
  std::map<std::string, std::string> parameters_;
};

}  // namespace store::redis
