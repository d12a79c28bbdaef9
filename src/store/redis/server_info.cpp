#include "store/redis/server_info.hpp"

namespace store::redis {
namespace {

std::optional<std::string> found(const std::map<std::string, std::string>& map,
                                 const std::string& name) {
  const auto entry = map.find(name);
  if (entry == map.end()) return std::nullopt;
  return entry->second;
}

}  // namespace

ServerInfo::ServerInfo(Link& link, const CallLimit& limit) {
  const auto info = link.ask({"INFO"}, limit);
  if (const auto* reply = std::get_if<Reply>(&info)) {
    std::string_view text = reply->text();
    while (!text.empty()) {
      const auto line = text.substr(0, text.find("\r\n"));
      text.remove_prefix(std::min(line.size() + 2, text.size()));
      const auto colon = line.find(':');
      if (colon == std::string_view::npos) continue;
      lines_.emplace(line.substr(0, colon), line.substr(colon + 1));
    }
  }
  for (const char* name : {"maxmemory-policy", "min-replicas-to-write", "save"}) {
    const auto answer = link.ask({"CONFIG", "GET", name}, limit);
    const auto* reply = std::get_if<Reply>(&answer);
    if (reply != nullptr && reply->size() == 2) parameters_.emplace(name, (*reply)[1].text());
  }
}

std::optional<std::string> ServerInfo::line(const std::string& name) const {
  return found(lines_, name);
}

std::optional<std::string> ServerInfo::parameter(const std::string& name) const {
  return found(parameters_, name);
}

}  // namespace store::redis
