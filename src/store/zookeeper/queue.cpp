#include "store/zookeeper/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "store/rules/runs.hpp"

namespace store::zookeeper {
namespace {

/// By the server's clock and ours: for people.
Millis age(const Node& node) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto now_ms = std::chrono::duration_cast<Millis>(now).count();
  return Millis{now_ms - std::clamp<std::int64_t>(node.stat.ctime, 0, now_ms)};
}

/// The nodes of those names below `path`, which are read together; those that have gone are left
/// out.
Result<std::vector<Node>> read_all(Session& session, const std::string& path,
                                   const std::vector<std::string>& names, const CallLimit& limit) {
  if (auto there = session.ready(limit); !there) return std::move(there).error();
  std::vector<Asked<Node>> calls;
  calls.reserve(names.size());
  for (const auto& name : names) {
    calls.push_back(session.send_get(fmt::format("{}/{}", path, name), Session::Watch::no));
  }
  std::vector<Node> nodes;
  for (const auto& call : calls) {
    auto node = session.answer(call, limit);
    if (!node) return std::move(node).error();
    if (*node) nodes.push_back(**std::move(node));
  }
  return nodes;
}

/// Of a lock's children, the newest of those runs.
Result<std::vector<Record>> read_runs(Session& session, const std::string& lock,
                                      std::size_t how_many, const CallLimit& limit) {
  auto children = session.children(runs_of(lock), limit);
  if (!children) return std::move(children).error();
  auto& names = children->names;
  std::sort(names.begin(), names.end(), std::greater<>{});
  names.resize(std::min(names.size(), how_many));
  auto nodes = read_all(session, runs_of(lock), names, limit);
  if (!nodes) return std::move(nodes).error();
  std::vector<Record> records;
  for (const Node& node : *nodes) records.push_back(record_of(node));
  return records;
}

}  // namespace

Record record_of(const Node& node) {
  return {node.data, node.stat.czxid, node.stat.ctime, node.stat.mtime};
}

Holder holder_of(const Node& node, std::size_t holders) {
  Holder holder{Holder::Kind::holder, data_in(node.data).token.text(), age(node), std::nullopt};
  holder.others = holders - 1;
  return holder;
}

Result<LockQueue> ordered(const Children& children) {
  auto queue = queue_of(children.names);
  if (has_a_tie(queue)) {
    return Fault{Fault::Kind::unusable,
                 "two nodes of the queue have the same number: delete the lock's node"};
  }
  return queue;
}

Result<LockQueue> read_queue(Session& session, const std::string& lock, const CallLimit& limit) {
  auto children = session.children(lock, limit);
  if (!children) return std::move(children).error();
  return ordered(*children);
}

std::optional<Holder> first_holder(Session& session, const std::string& lock,
                                   const LockQueue& queue, const CallLimit& limit) {
  if (queue.empty()) return std::nullopt;
  const auto node = session.get(lock + "/" + queue.front().name, Session::Watch::no, limit);
  if (!node || !*node) return std::nullopt;
  return holder_of(**node, holders_in(queue));
}

Result<LockReport> report_on(Session& session, const std::string& lock, const LockName& name,
                             Listed which, const std::function<std::int64_t()>& server_ms,
                             const CallLimit& limit) {
  LockReport report{name, std::nullopt, {}, std::nullopt, {}};
  auto queue = read_queue(session, lock, limit);
  if (!queue) return std::move(queue).error();
  if (queue->empty() && which == Listed::in_use) return report;
  std::vector<std::string> names;
  names.reserve(queue->size());
  for (const QueueNode& each : *queue) names.push_back(each.name);
  if (auto there = session.ready(limit); !there) return std::move(there).error();
  std::vector<Asked<Node>> calls;
  calls.reserve(names.size());
  for (const auto& each : names) {
    calls.push_back(session.send_get(fmt::format("{}/{}", lock, each), Session::Watch::no));
  }
  const auto holders = holders_in(*queue);
  std::vector<Token> holding;
  std::vector<Token> waiting;
  for (std::size_t i = 0; i < queue->size(); ++i) {
    auto content = session.answer(calls[i], limit);
    if (!content) return std::move(content).error();
    if (!*content) continue;
    const Node& node = **content;
    const Mode mode{(*queue)[i].shared ? Mode::Kind::shared : Mode::Kind::exclusive};
    const Token token = data_in(node.data).token;
    if (i < holders) {
      const auto fence = static_cast<Fence>(node.stat.czxid);
      report.mode = mode;
      report.fence = std::max(report.fence.value_or(0), fence);
      report.holders.push_back({holder_of(node, 1), fence});
      holding.push_back(token);
    } else {
      report.waiters.push_back({token, mode, age(node)});
      waiting.push_back(token);
    }
  }
  // One more than is shown: a waiter's that was taken for a grant is left out.
  auto records =
      read_runs(session, lock, which == Listed::in_use ? 2 : rules::remembered_runs, limit);
  if (!records) return std::move(records).error();
  if (records->empty()) return report;
  report.runs = runs_in(*std::move(records), holding, waiting, server_ms());
  if (which == Listed::in_use && report.runs.size() > 1) report.runs.resize(1, report.runs.front());
  if (!report.fence && !report.runs.empty()) report.fence = report.runs.front().fence;
  return report;
}

}  // namespace store::zookeeper
