// How a grant ends, or a wait: all that it has written is set right at once, and what is not to be
// remembered any longer is removed.
#include <algorithm>
#include <utility>

#include "store/rules/runs.hpp"
#include "store/zookeeper/contender.hpp"
#include "store/zookeeper/queue.hpp"

namespace store::zookeeper {
namespace {

// Of the oldest runs, and of the slots, so many are looked at by each run, whether they are over.
constexpr std::size_t looked_at = 2;

/// Removes what is not to be remembered any longer, as far as this was seen: the oldest runs beyond
/// those that are kept, and some of what is older than its --history.
class Sweep {
 public:
  Sweep(Session& session, const Contender& contender) : session_{session}, contender_{contender} {}

  /// Questions that go out with the release.
  void ask();
  /// Takes the answers, and has removed what is over. Nobody waits for that.
  void finish(const CallLimit& limit);

 private:
  void look_at(const std::string& path) {
    asked_.push_back({path, session_.send_get(path, Session::Watch::no)});
  }

  Session& session_;
  const Contender& contender_;
  struct Doubtful {
    std::string path;
    Asked<Node> node;
  };
  std::vector<Doubtful> asked_;
};

void Sweep::ask() {
  if (contender_.run.others && contender_.run.others->code == ZOK) {
    std::vector<std::string> paths;
    for (const auto& name : contender_.run.others->answer.names) {
      auto path = runs_of(contender_.lock) + "/" + name;
      if (path != contender_.run.node) paths.push_back(std::move(path));
    }
    std::sort(paths.begin(), paths.end());
    const auto kept = rules::remembered_runs - 1;  // and ours
    const std::size_t surplus = paths.size() > kept ? paths.size() - kept : 0;
    for (std::size_t i = 0; i < surplus; ++i) (void)session_.send_erase(paths[i]);
    for (std::size_t i = surplus; i < std::min(paths.size(), surplus + looked_at); ++i) {
      look_at(paths[i]);
    }
  }
  if (contender_.slot.others && contender_.slot.others->code == ZOK) {
    const auto& names = contender_.slot.others->answer.names;
    if (names.size() <= tolerated_slots) return;
    const auto start = static_cast<std::size_t>(contender_.change) % names.size();
    for (std::size_t i = 0; i < looked_at; ++i) {
      const std::string path = slots_of(contender_.lock) + "/" + names[(start + i) % names.size()];
      if (path != contender_.slot.node) look_at(path);
    }
  }
}

void Sweep::finish(const CallLimit& limit) {
  const auto now = contender_.server_ms();  // of the claim: what was over then is over
  for (const auto& [path, asked] : asked_) {
    auto node = session_.answer(asked, limit);
    if (!node) return;
    if (!*node) continue;
    const bool is_run = path.starts_with(runs_of(contender_.lock) + "/");
    const bool over = is_run ? is_forgotten(record_of(**node), now)
                             : is_forgotten(slot_in((*node)->data), (*node)->stat.mtime, now);
    if (over) (void)session_.send_erase(path, (*node)->stat.version);
  }
}

/// Of a run that took so long that fifty others were remembered since, and its node is gone.
std::string text_of_forgotten(const Contender& contender, const RunEnd& end) {
  if (!contender.own.made) return text_of_ended(contender.run.text, end);
  return text_of_ended_anew(contender.run.text, end, static_cast<Fence>(contender.own.made->czxid),
                            contender.own.made->ctime);
}

/// What the end of our run, or that there was none, makes of its slot; nothing if it stays as it
/// is.
std::optional<SlotRecord> slot_after(const Contender& contender, const Token& token,
                                     const Parting& parting) {
  if (contender.slot.node.empty()) return std::nullopt;
  const auto& before = contender.slot.record.state;
  const Fence fence = contender.own.made ? static_cast<Fence>(contender.own.made->czxid) : 0;
  SlotRecord after = contender.slot.record;
  if (parting.end && parting.slot) {
    after.state = rules::after_run(before, rules::end_of_run(token, parting, fence, 0));
    after.history = parting.history;
  } else {
    after.state = rules::without_run(before, token.text());
  }
  return after.state != before ? std::optional{std::move(after)} : std::nullopt;
}

}  // namespace

Release leave(Session& session, Contender& contender, const Token& token, const Parting& parting,
              const CallLimit& limit) {
  bool had_gone = false;
  bool gone = false;
  bool forgotten = false;
  if (!parting.end && contender.grant_is_unheard && !contender.slot.node.empty()) {
    if (auto there = read_slot(session, contender, limit); !there) return std::move(there).error();
  }
  for (int tries = 0; tries < most_tries && !gone; ++tries) {
    Transaction goodbye;
    std::optional<std::size_t> node;
    std::optional<std::size_t> run;
    std::optional<std::size_t> slot;
    if (!contender.own.path.empty()) node = goodbye.erase(contender.own.path);
    if (!contender.run.node.empty() && forgotten) {
      run = goodbye.create(contender.run.node, text_of_forgotten(contender, *parting.end),
                           ZOO_PERSISTENT);
    } else if (!contender.run.node.empty()) {
      run = parting.end ? goodbye.set(contender.run.node,
                                      text_of_ended(contender.run.text, *parting.end), any_version)
                        : goodbye.erase(contender.run.node);
    }
    const auto after = slot_after(contender, token, parting);
    if (after) {
      if (contender.slot.version < 0) {
        slot = goodbye.create(contender.slot.node, text_of_slot(*after), ZOO_PERSISTENT);
      } else if (after->state.kind == rules::SlotState::Kind::none) {
        slot = goodbye.erase(contender.slot.node, contender.slot.version);
      } else {
        slot = goodbye.set(contender.slot.node, text_of_slot(*after), contender.slot.version);
      }
    }
    gone = !node && !run && !slot;
    if (gone) break;
    if (auto there = session.ready(limit); !there) return std::move(there).error();
    // A container goes by itself with the last slot in it.
    if (slot && contender.slot.version < 0) {
      (void)session.send_create(slots_of(contender.lock), "", ZOO_CONTAINER);
    }
    const auto asked = session.send(goodbye);
    Sweep sweep{session, contender};
    if (parting.end) sweep.ask();
    auto committed = session.answer(asked, limit);
    if (committed) {
      sweep.finish(limit);
      contender.own.path.clear();
      contender.run.node.clear();
      if (after) contender.slot.record = *after;
      gone = true;
      break;
    }
    const Rejected& rejected = committed.error();
    if (!rejected.at) return rejected.error.fault;
    if (rejected.at == node) {
      if (rejected.error.kind != Error::Kind::no_such_node) return rejected.error.fault;
      contender.own.path.clear();
      // Whoever took the lock away may have said so; what says nothing says that it was lost.
      if (parting.end) return NotOurs{"its node is gone"};
      had_gone = true;
    } else if (rejected.at == run) {
      const bool is_gone = rejected.error.kind == Error::Kind::no_such_node;
      contender.run.node.clear();  // there is no room for it any more, or nobody wants it
      if (!is_gone || !parting.end || std::exchange(forgotten, true)) continue;
      // Behind the names of those that were remembered since.
      const auto runs = session.get(runs_of(contender.lock), Session::Watch::no, limit);
      if (!runs) return runs.error();
      if (*runs) contender.run.node = run_node_of(contender.lock, (*runs)->stat.pzxid, token);
    } else {
      if (auto there = read_slot(session, contender, limit); !there) {
        return std::move(there).error();
      }
    }
  }
  if (!gone) return restless();
  if (had_gone) return NotOurs{"its node is gone"};
  return Released{};
}

}  // namespace store::zookeeper
