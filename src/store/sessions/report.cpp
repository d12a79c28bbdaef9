#include "store/sessions/report.hpp"

#include <algorithm>
#include <chrono>

#include "store/rules/runs.hpp"

namespace store::sessions {
namespace {

/// By the server's clock and ours: for people.
Millis since(std::int64_t then_ms) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto now_ms = std::chrono::duration_cast<Millis>(now).count();
  return Millis{now_ms - std::clamp<std::int64_t>(then_ms, 0, now_ms)};
}

/// The newest of the lock's runs.
Result<std::vector<Node>> read_runs(Session& session, const Places& places, std::size_t how_many,
                                    const CallLimit& limit) {
  Round round;
  round.children_of(places.runs);
  auto children = std::move(session.ask(round, limit).children.front());
  if (!children) return std::move(children).error();
  auto& names = children->names;
  std::sort(names.begin(), names.end(), std::greater<>{});
  names.resize(std::min(names.size(), how_many));
  for (auto& each : names) each.insert(0, places.runs + "/");
  auto nodes = read_all(session, names, limit);
  if (!nodes) return std::move(nodes).error();
  std::vector<Node> runs;
  for (auto& each : *nodes) {
    if (each) runs.push_back(*std::move(each));
  }
  return runs;
}

}  // namespace

Result<std::vector<std::optional<Node>>> read_all(Session& session,
                                                  const std::vector<std::string>& paths,
                                                  const CallLimit& limit) {
  std::vector<std::optional<Node>> nodes;
  if (paths.empty()) return nodes;
  Round round;
  for (const auto& each : paths) round.get(each);
  auto answers = session.ask(round, limit);
  for (auto& each : answers.nodes) {
    if (!each) return std::move(each).error();
    nodes.push_back(*std::move(each));
  }
  return nodes;
}

Holder holder_of(const Node& node, std::size_t holders) {
  const NodeText text = text_in(node.text);
  if (text.token.text().empty()) {  // of etcdctl(1), say
    Holder foreign{Holder::Kind::foreign, "", std::nullopt, std::nullopt};
    foreign.others = holders - 1;
    return foreign;
  }
  const auto kind = text.is_kept ? Holder::Kind::kept : Holder::Kind::holder;
  // A waiter writes its node when it takes the lock. Others write into it later.
  const bool is_grant_last = !text.stop && !text.is_step && !text.is_kept;
  const auto held = since(is_grant_last ? node.stat.written_ms : node.stat.created_ms);
  Holder holder{kind, text.token.text(), held, std::nullopt};
  holder.others = holders - 1;
  const bool has_own_lease = text.is_step || text.is_kept;
  holder.ends = has_own_lease ? Holder::Ends::with_lease : Holder::Ends::with_owner;
  return holder;
}

Result<LockQueue> read_queue(Session& session, const Places& places, const CallLimit& limit) {
  Round round;
  round.queue(places.queue);
  const auto children = std::move(session.ask(round, limit).queues.front());
  if (!children) return children.error();
  return queue_of(children->names);
}

std::optional<Holder> first_holder(Session& session, const Places& places, const LockQueue& queue,
                                   const CallLimit& limit) {
  if (queue.empty()) return std::nullopt;
  const auto nodes = read_all(session, {places.queue + "/" + queue.front().name}, limit);
  if (!nodes || !nodes->front()) return std::nullopt;
  return holder_of(*nodes->front(), holders_in(queue));
}

Result<LockReport> report_on(Session& session, const LockName& name, Listed which,
                             const CallLimit& limit) {
  const Places places = session.places_of(name);
  LockReport report{name, std::nullopt, {}, std::nullopt, {}};
  auto queue = read_queue(session, places, limit);
  if (!queue) return std::move(queue).error();
  if (queue->empty() && which == Listed::in_use) return report;
  std::vector<std::string> paths;
  paths.reserve(queue->size());
  for (const QueueNode& each : *queue) paths.push_back(places.queue + "/" + each.name);
  const auto nodes = read_all(session, paths, limit);
  if (!nodes) return nodes.error();
  const auto holders = holders_in(*queue);
  std::vector<Token> holding;
  std::vector<Token> waiting;
  for (std::size_t i = 0; i < queue->size(); ++i) {
    if (!(*nodes)[i]) continue;
    const Node& node = *(*nodes)[i];
    const NodeText text = text_in(node.text);
    const Mode mode = mode_of((*queue)[i], text);
    const Token& token = text.token;
    if (i < holders) {
      const Fence fence = node.stat.created_by;
      report.mode = mode;
      report.fence = std::max(report.fence.value_or(0), fence);
      report.holders.push_back({holder_of(node, 1), fence, text.permit});
      holding.push_back(token);
    } else {
      report.waiters.push_back({token, mode, since(node.stat.created_ms)});
      waiting.push_back(token);
    }
  }
  // One more than is shown: a waiter's that was taken for a grant is left out.
  auto records =
      read_runs(session, places, which == Listed::in_use ? 2 : rules::remembered_runs, limit);
  if (!records) return std::move(records).error();
  if (records->empty()) return report;
  report.runs = runs_in(*std::move(records), holding, waiting, session.now_ms(limit));
  if (which == Listed::in_use && report.runs.size() > 1) report.runs.resize(1, report.runs.front());
  if (!report.fence && !report.runs.empty()) report.fence = report.runs.front().fence;
  return report;
}

}  // namespace store::sessions
