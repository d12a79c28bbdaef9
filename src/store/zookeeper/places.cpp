// Where the nodes of a lock are. The nodes on the way to them are containers: ZooKeeper removes
// those of a lock once nothing is below them.
#include <fnmatch.h>

#include <algorithm>
#include <chrono>

#include "store/url.hpp"
#include "store/zookeeper/client.hpp"

namespace store::zookeeper {
namespace {

/// The nodes above `path` from the top.
std::vector<std::string> way_to(const std::string& path) {
  std::vector<std::string> nodes;
  for (auto slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    nodes.push_back(path.substr(0, slash));
  }
  return nodes;
}

}  // namespace

sessions::Places Client::places_of(const LockName& name) const {
  const std::string lock = base_ + "/" + percent_encoded(name.text());
  return {lock, lock + "/runs", lock + "/slots", lock + "/superseded"};
}

std::string Client::last_word_of(std::string_view nonce) const {
  // Not below the lock's node, which may be gone by then.
  return base_ + "/" + std::string{nonce} + "-stopped";
}

Result<std::vector<LockName>> Client::names(const std::string& pattern, const CallLimit& limit) {
  sessions::Round round;
  round.children_of(base_);
  auto answers = ask(round, limit);
  const auto& children = answers.children.front();
  if (!children) return children.error();
  std::vector<LockName> names;
  for (const auto& child : children->names) {
    const auto text = percent_decoded(child);
    const auto name = text ? LockName::from(*text) : std::nullopt;
    if (name && ::fnmatch(pattern.c_str(), text->c_str(), 0) == 0) names.push_back(*name);
  }
  return names;
}

std::int64_t Client::now_ms(const CallLimit& limit) {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  const auto now = std::chrono::duration_cast<Millis>(since_1970).count();
  if (!clock_ahead_) {
    // ZooKeeper tells its time only by the nodes that it makes. No key has such a name.
    sessions::Round round;
    round.change.create(sessions::Transaction::Kind::queue, base_ + "/%clock-", "");
    const auto answers = ask(round, limit);
    clock_ahead_ = 0;
    if (answers.change) {
      const auto& made = answers.change->made.front();
      if (made.stat) clock_ahead_ = made.stat->created_ms - now;
      sessions::Round tidy;
      tidy.change.leftovers.emplace_back(made.path, sessions::any_version);
      (void)ask(tidy, limit);
    }
  }
  return now + *clock_ahead_;
}

// ---- the way to a node ----

void Client::send_way_to(const std::string& path) {
  bool is_missing = false;
  for (const auto& node : way_to(path)) {
    if (node.size() <= base_.size()) continue;
    is_missing = missing_.erase(node) > 0 || is_missing;
    if (is_missing) (void)send_create(node, "", ZOO_CONTAINER);
  }
}

Result<bool> Client::make_way_to(const std::string& path, const CallLimit& limit) {
  for (const auto& node : way_to(path)) {
    const bool is_above = node.size() <= base_.size();
    if (auto there = ready(limit); !there) return std::move(there).error();
    const auto made =
        await(send_create(node, "", is_above ? ZOO_PERSISTENT : ZOO_CONTAINER), limit);
    if (made || made.error().kind == sessions::Error::Kind::node_exists) continue;
    const Fault& fault = made.error().fault;
    if (fault.kind == Fault::Kind::silent) return fault;
    // Above the locks we may lack the right, and not need it.
    if (!is_above || fault.kind != Fault::Kind::denied) return false;
  }
  return true;
}

}  // namespace store::zookeeper
