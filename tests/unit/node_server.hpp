// A server of nodes and sessions in memory, with the faults that a test wants.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/sessions/session.hpp"

namespace fake {

/// Shared by all its sessions.
struct NodeServer {
  using Change = store::sessions::Session::Change;
  /// repeated: its answer was lost, and it is asked again by the session itself.
  enum class Fate { answered, answer_lost, never_arrived, repeated };

  struct Entry {
    store::sessions::Node node;
    unsigned owner = 0;   // the session that it ends with; 0: none
    unsigned number = 0;  // its place in a queue; 0: it is in none
    std::optional<std::int64_t> ends_ms{};
  };
  struct Client {
    bool expired = false;
    std::set<std::string> watched{};
    std::map<std::string, Change> changed{};
  };

  std::map<std::string, Entry> nodes{};
  std::map<unsigned, Client> clients{};
  std::map<std::string, std::uint64_t> changes{};  // the last one below each node
  std::deque<Fate> fates{};                        // of the next rounds
  std::function<Fate()> fate{};                    // of those after them; none: all are answered
  std::function<void()> between{};                 // before one that is repeated is asked again
  std::int64_t now_ms = 1'795'000'000'000;
  std::uint64_t last_change = 0;
  unsigned last_number = 0;
  unsigned last_session = 0;
  bool is_deaf = false;          // its watches tell nothing
  bool forgets_changes = false;  // of a queue that is empty, as if its node had gone as well

  Fate next_fate() {
    if (!fates.empty()) {
      const Fate next = fates.front();
      fates.pop_front();
      return next;
    }
    return fate ? fate() : Fate::answered;
  }

  static std::string above(const std::string& path) { return path.substr(0, path.rfind('/')); }

  void tell(const std::string& path, Change change) {
    if (is_deaf) return;
    for (auto& [id, client] : clients) {
      if (client.watched.erase(path) > 0) client.changed[path] = change;
    }
  }
  void erase(const std::string& path) {
    if (nodes.erase(path) == 0) return;
    changes[above(path)] = last_change;
    tell(path, Change::gone);
  }
  /// Ends the nodes whose own time is over.
  void end_overdue() {
    std::vector<std::string> gone;
    for (const auto& [path, entry] : nodes) {
      if (entry.ends_ms && *entry.ends_ms <= now_ms) gone.push_back(path);
    }
    if (!gone.empty()) ++last_change;
    for (const auto& path : gone) erase(path);
  }
  /// Ends a session: its nodes go.
  void expire(unsigned session) {
    const auto found = clients.find(session);
    if (found == clients.end() || found->second.expired) return;
    found->second.expired = true;
    ++last_change;
    std::vector<std::string> gone;
    for (const auto& [path, entry] : nodes) {
      if (entry.owner == session) gone.push_back(path);
    }
    for (const auto& path : gone) erase(path);
  }
  [[nodiscard]] store::sessions::Children below(const std::string& path, bool is_queue) const {
    std::vector<std::pair<unsigned, std::string>> found;
    for (const auto& [each, entry] : nodes) {
      if (above(each) != path || (entry.number > 0) != is_queue) continue;
      found.emplace_back(entry.number, each.substr(path.size() + 1));
    }
    std::sort(found.begin(), found.end());
    store::sessions::Children children;
    for (auto& each : found) children.names.push_back(std::move(each.second));
    const auto last = changes.find(path);
    const bool forgotten = forgets_changes && children.names.empty();
    if (last != changes.end() && !forgotten) children.change = last->second;
    return children;
  }
};

class Session final : public store::sessions::Session {
 public:
  using Transaction = store::sessions::Transaction;
  using Error = store::sessions::Error;

  explicit Session(NodeServer& server) : server_{server}, id_{++server.last_session} {
    server_.clients[id_];
  }
  ~Session() override {
    if (!is_killed_) server_.expire(id_);
  }
  /// As if it were killed: a test ends it.
  void give_away() override { kill(); }
  store::Result<std::optional<store::Millis>> time_left(
      const std::string& path, const store::CallLimit& /*limit*/) override {
    server_.end_overdue();
    const auto found = server_.nodes.find(path);
    if (found == server_.nodes.end()) return std::optional<store::Millis>{};
    const auto ends = found->second.ends_ms;
    return std::optional{ends ? store::Millis{*ends - server_.now_ms} : store::Ttl::longest};
  }

  [[nodiscard]] unsigned id() const { return id_; }
  /// Its process dies: nobody says goodbye.
  void kill() { is_killed_ = true; }

  [[nodiscard]] bool expired() const override { return server_.clients[id_].expired; }
  [[nodiscard]] store::Ttl lease_within(store::Ttl wanted) const override { return wanted; }
  [[nodiscard]] store::Moment lease_counts_from(store::Moment asked_at) const override {
    return asked_at;
  }
  [[nodiscard]] store::sessions::Places places_of(const store::LockName& name) const override {
    const std::string lock = "/locks/" + name.text();
    return {lock, lock + "/runs", lock + "/slots", lock + "/superseded"};
  }
  [[nodiscard]] std::string last_word_of(std::string_view nonce) const override {
    return "/words/" + std::string{nonce};
  }
  store::Result<std::vector<store::LockName>> names(const std::string& /*pattern*/,
                                                    const store::CallLimit& /*limit*/) override {
    return std::vector<store::LockName>{};
  }
  std::int64_t now_ms(const store::CallLimit& /*limit*/) override { return server_.now_ms; }

  store::sessions::Answers ask(const store::sessions::Round& round,
                               const store::CallLimit& /*limit*/) override {
    const auto fate = server_.next_fate();
    server_.end_overdue();
    const bool arrives = !expired() && fate != NodeServer::Fate::never_arrived;
    store::sessions::Answers answers;
    if (arrives) answers.change = carry_out(round.change);
    if (arrives && fate == NodeServer::Fate::repeated && !round.change.steps.empty()) {
      repeat(round.change, answers);
      if (expired()) return silence(round);
    }
    if (!arrives || fate == NodeServer::Fate::answer_lost) return silence(round);
    auto& client = server_.clients[id_];
    for (const auto& each : round.gets) {
      if (each.watch == store::sessions::Watch::yes) client.watched.insert(each.path);
      const auto found = server_.nodes.find(each.path);
      answers.nodes.emplace_back(found == server_.nodes.end()
                                     ? std::optional<store::sessions::Node>{}
                                     : shown(found->second));
    }
    for (const auto& each : round.queues) answers.queues.emplace_back(server_.below(each, true));
    for (const auto& each : round.children) {
      answers.children.emplace_back(server_.below(each, false));
    }
    return answers;
  }
  store::Result<bool> keep(const std::string& path, const store::CallLimit& limit) override {
    store::sessions::Round round;
    round.change.check(path);
    return store::sessions::unless_gone(ask(round, limit).change);
  }

  store::Result<base::Done> await_connection(const store::CallLimit& /*limit*/) override {
    return base::Done{};
  }
  void leave_server() override {}
  bool process(const store::CallLimit& /*limit*/, const std::function<bool()>& done) override {
    return done();
  }
  [[nodiscard]] int descriptor() const override { return 0; }
  Change change_of(const std::string& path) override {
    auto& changed = server_.clients[id_].changed;
    const auto found = changed.find(path);
    return found == changed.end() ? Change::none : changed.extract(found).mapped();
  }

 private:
  using Outcome = base::Result<store::sessions::Committed, store::sessions::Rejected>;

  [[nodiscard]] std::optional<store::sessions::Node> shown(const NodeServer::Entry& entry) const {
    auto node = entry.node;
    node.stat.is_ours = entry.owner == id_;
    return node;
  }

  static store::sessions::Answers silence(const store::sessions::Round& round) {
    const store::Fault fault{store::Fault::Kind::silent, "no answer"};
    store::sessions::Answers answers;
    const bool asked = !round.change.steps.empty();
    if (asked) answers.change = store::sessions::Rejected{{Error::Kind::other, fault}, {}};
    answers.nodes.assign(round.gets.size(), fault);
    answers.queues.assign(round.queues.size(), fault);
    answers.children.assign(round.children.size(), fault);
    return answers;
  }

  /// Carries out a change a second time, unless all of it is as the first time left it.
  void repeat(const Transaction& change, store::sessions::Answers& answers) {
    if (server_.between) server_.between();
    answers.is_repeated = true;
    if (expired()) return;
    bool is_done = static_cast<bool>(answers.change);
    for (std::size_t i = 0; is_done && i < change.steps.size(); ++i) {
      const auto& step = change.steps[i];
      const auto& made = answers.change->made[i].path;
      const auto found = server_.nodes.find(made.empty() ? step.path : made);
      const bool is_there = found != server_.nodes.end();
      if (step.kind == Transaction::Kind::erase) {
        is_done = !is_there;
      } else if (step.kind == Transaction::Kind::queue) {
        is_done = is_there;
      } else if (step.kind != Transaction::Kind::check) {
        is_done = is_there && found->second.node.text == step.text;
      }
    }
    if (!is_done) answers.change = carry_out(change);
  }

  /// Why the step cannot be carried out; nothing: it can be.
  [[nodiscard]] std::optional<Error::Kind> objection_to(const Transaction::Step& step) const {
    const auto found = server_.nodes.find(step.path);
    const bool is_there = found != server_.nodes.end();
    switch (step.kind) {
      case Transaction::Kind::queue: return std::nullopt;
      case Transaction::Kind::ephemeral:
      case Transaction::Kind::lasting:
        return is_there ? std::optional{Error::Kind::node_exists} : std::nullopt;
      default: break;
    }
    if (!is_there) return Error::Kind::no_such_node;
    const auto version = step.before.version;
    const bool fits =
        version == store::sessions::any_version || version == found->second.node.stat.version;
    return fits ? std::nullopt : std::optional{Error::Kind::node_changed};
  }

  Outcome carry_out(const Transaction& change) {
    for (std::size_t i = 0; i < change.steps.size(); ++i) {
      if (const auto kind = objection_to(change.steps[i])) {
        const store::Fault fault{store::Fault::Kind::unusable, "rejected"};
        return store::sessions::Rejected{{*kind, fault}, i};
      }
    }
    store::sessions::Committed committed;
    if (!change.steps.empty()) ++server_.last_change;
    for (const auto& step : change.steps) committed.made.push_back(carry_out(step));
    for (const auto& [path, version] : change.leftovers) {
      const auto found = server_.nodes.find(path);
      if (found == server_.nodes.end()) continue;
      const bool fits =
          version == store::sessions::any_version || version == found->second.node.stat.version;
      if (!fits) continue;
      ++server_.last_change;
      server_.erase(path);
    }
    // As ZooKeeper: only the answer to a single creation has the node's numbers.
    if (change.steps.size() > 1) {
      for (auto& each : committed.made) each.stat.reset();
    }
    return committed;
  }

  store::sessions::Made carry_out(const Transaction::Step& step) {
    const auto now = server_.now_ms;
    if (step.kind == Transaction::Kind::check) return {};
    if (step.kind == Transaction::Kind::erase) {
      server_.erase(step.path);
      return {};
    }
    if (step.kind == Transaction::Kind::set) {
      auto& entry = server_.nodes[step.path];
      if (step.lasts) {
        entry.owner = 0;
        entry.ends_ms = now + step.lasts->count();
      }
      auto& node = entry.node;
      node.text = step.text;
      node.stat.written_ms = now;
      ++node.stat.version;
      server_.tell(step.path, Change::written);
      return {};
    }
    NodeServer::Entry entry{{step.text, {server_.last_change, now, now, 0, false}}};
    if (step.kind != Transaction::Kind::lasting) entry.owner = id_;
    std::string path = step.path;
    if (step.kind == Transaction::Kind::queue) {
      entry.number = ++server_.last_number;
      path += fmt::format("{:010}", entry.number);
    }
    server_.nodes[path] = entry;
    server_.changes[NodeServer::above(path)] = server_.last_change;
    server_.tell(path, Change::written);
    return {path, shown(entry)->stat};
  }

  NodeServer& server_;
  unsigned id_;
  bool is_killed_ = false;
};

/// Notes the sessions that it opens, as long as they are there.
inline store::sessions::OpenSession opener(NodeServer& server,
                                           std::weak_ptr<Session>* opened = nullptr) {
  return [&server, opened](
             store::Ttl,
             const store::CallLimit&) -> store::Result<std::shared_ptr<store::sessions::Session>> {
    auto session = std::make_shared<Session>(server);
    if (opened != nullptr) *opened = session;
    return std::shared_ptr<store::sessions::Session>{std::move(session)};
  };
}

}  // namespace fake
