#include "store/zookeeper/reading.hpp"

#include <algorithm>
#include <chrono>

namespace store::zookeeper {
namespace {

/// By the server's clock and ours: for people.
Millis age(const Node& node) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto now_ms = std::chrono::duration_cast<Millis>(now).count();
  return Millis{now_ms - std::clamp<std::int64_t>(node.stat.ctime, 0, now_ms)};
}

Holder occupant_of(const Node& node) {
  return {Holder::Kind::holder, message_in(node.data).token.text(), age(node), std::nullopt};
}

}  // namespace

std::variant<Line, Fault> line_at(Session& session, const std::string& place,
                                  const CallLimit& limit) {
  auto children = session.children(place, limit);
  if (auto* fault = std::get_if<Fault>(&children)) return std::move(*fault);
  return line_of(std::get<std::vector<std::string>>(children));
}

std::optional<Holder> occupant_in(Session& session, const std::string& place, const Line& line,
                                  const CallLimit& limit) {
  if (line.empty()) return std::nullopt;
  const auto content = session.get(place + "/" + line.front().name, Session::Watch::no, limit);
  const auto* node = std::get_if<std::optional<Node>>(&content);
  if (node == nullptr || !*node) return std::nullopt;
  auto occupant = occupant_of(**node);
  occupant.others = holders_in(line) - 1;
  return occupant;
}

std::variant<LockReport, Fault> report_on(Session& session, const std::string& place,
                                          const LockName& name, const CallLimit& limit) {
  LockReport report{name, std::nullopt, {}, std::nullopt, {}};
  auto read = line_at(session, place, limit);
  if (auto* fault = std::get_if<Fault>(&read)) return std::move(*fault);
  const Line& line = std::get<Line>(read);
  const auto holders = holders_in(line);
  for (std::size_t i = 0; i < line.size(); ++i) {
    auto content = session.get(place + "/" + line[i].name, Session::Watch::no, limit);
    if (auto* fault = std::get_if<Fault>(&content)) return std::move(*fault);
    const auto& node = std::get<std::optional<Node>>(content);
    if (!node) continue;
    const Mode mode{line[i].shared ? Mode::Kind::shared : Mode::Kind::exclusive};
    if (i < holders) {
      const auto fence = static_cast<Fence>(node->stat.czxid);
      report.mode = mode;
      report.fence = std::max(report.fence.value_or(0), fence);
      report.holders.push_back({occupant_of(*node), fence});
    } else {
      report.waiters.push_back({message_in(node->data).token, mode, age(*node)});
    }
  }
  return report;
}

}  // namespace store::zookeeper
