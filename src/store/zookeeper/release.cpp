// How a grant ends, or a wait: all that it has written is set right at once, and what is not to be
// remembered any longer is removed.
#include <algorithm>
#include <utility>

#include "store/rules/runs.hpp"
#include "store/zookeeper/queue.hpp"

namespace store::zookeeper {
namespace {

// Of the oldest runs, and of the slots, so many are looked at by each run, whether they are over.
constexpr std::size_t looked_at = 2;

/// Removes what is not to be remembered any longer, as far as this was seen: the oldest runs beyond
/// those that are kept, and some of what is older than its --history.
class Sweep {
 public:
  Sweep(Session& session, const Position& position) : session_{session}, position_{position} {}

  /// Questions that go out with the release.
  void ask();
  /// Takes the answers, and has removed what is over. Nobody waits for that.
  void finish(const CallLimit& limit);

 private:
  void look_at(const std::string& path) {
    asked_.push_back({path, session_.send_get(path, Session::Watch::no)});
  }

  Session& session_;
  const Position& position_;
  struct Doubtful {
    std::string path;
    Asked<Node> node;
  };
  std::vector<Doubtful> asked_;
};

void Sweep::ask() {
  if (position_.runs && position_.runs->code == ZOK) {
    std::vector<std::string> paths;
    for (const auto& name : position_.runs->answer.names) {
      auto path = runs_of(position_.lock) + "/" + name;
      if (path != position_.run) paths.push_back(std::move(path));
    }
    std::sort(paths.begin(), paths.end());
    const auto kept = rules::remembered_runs - 1;  // and ours
    const std::size_t surplus = paths.size() > kept ? paths.size() - kept : 0;
    for (std::size_t i = 0; i < surplus; ++i) (void)session_.send_erase(paths[i]);
    for (std::size_t i = surplus; i < std::min(paths.size(), surplus + looked_at); ++i) {
      look_at(paths[i]);
    }
  }
  if (position_.slots && position_.slots->code == ZOK) {
    const auto& names = position_.slots->answer.names;
    if (names.size() <= tolerated_slots) return;
    const auto start = static_cast<std::size_t>(position_.change) % names.size();
    for (std::size_t i = 0; i < looked_at; ++i) {
      const std::string path = slots_of(position_.lock) + "/" + names[(start + i) % names.size()];
      if (path != position_.slot) look_at(path);
    }
  }
}

void Sweep::finish(const CallLimit& limit) {
  const auto now = position_.server_ms();  // of the claim: what was over then is over
  for (const auto& [path, asked] : asked_) {
    auto node = session_.answer(asked, limit);
    if (!node) return;
    if (!*node) continue;
    const bool is_run = path.starts_with(runs_of(position_.lock) + "/");
    const bool over = is_run ? is_forgotten(record_of(**node), now)
                             : is_forgotten(slot_in((*node)->data), (*node)->stat.mtime, now);
    if (over) (void)session_.send_erase(path, (*node)->stat.version);
  }
}

/// Of a run that took so long that fifty others were remembered since, and its node is gone.
std::string text_of_forgotten(const Position& position, const RunEnd& end) {
  if (!position.made) return text_of_ended(position.run_text, end);
  return text_of_ended_anew(position.run_text, end, static_cast<Fence>(position.made->czxid),
                            position.made->ctime);
}

/// What the end of our run, or that there was none, makes of its slot; nothing if it stays as it
/// is.
std::optional<SlotRecord> slot_after(const Position& position, const Token& token,
                                     const Parting& parting) {
  if (position.slot.empty()) return std::nullopt;
  const auto& before = position.slot_record.state;
  const Fence fence = position.made ? static_cast<Fence>(position.made->czxid) : 0;
  SlotRecord after = position.slot_record;
  if (parting.end && parting.slot) {
    after.state = rules::after_run(before, rules::end_of_run(token, parting, fence, 0));
    after.history = parting.history;
  } else {
    after.state = rules::without_run(before, token.text());
  }
  return after.state != before ? std::optional{std::move(after)} : std::nullopt;
}

}  // namespace

Release leave(Session& session, Position& position, const Token& token, const Parting& parting,
              const CallLimit& limit) {
  bool had_gone = false;
  bool gone = false;
  bool forgotten = false;
  if (!parting.end && position.grant_is_unheard && !position.slot.empty()) {
    if (auto there = read_slot(session, position, limit); !there) return std::move(there).error();
  }
  for (int tries = 0; tries < most_tries && !gone; ++tries) {
    Transaction goodbye;
    std::optional<std::size_t> node;
    std::optional<std::size_t> run;
    std::optional<std::size_t> slot;
    if (!position.node.empty()) node = goodbye.erase(position.node);
    if (!position.run.empty() && forgotten) {
      run = goodbye.create(position.run, text_of_forgotten(position, *parting.end), ZOO_PERSISTENT);
    } else if (!position.run.empty()) {
      run = parting.end ? goodbye.set(position.run, text_of_ended(position.run_text, *parting.end),
                                      any_version)
                        : goodbye.erase(position.run);
    }
    const auto after = slot_after(position, token, parting);
    if (after) {
      if (position.slot_version < 0) {
        slot = goodbye.create(position.slot, text_of_slot(*after), ZOO_PERSISTENT);
      } else if (after->state.kind == rules::SlotState::Kind::none) {
        slot = goodbye.erase(position.slot, position.slot_version);
      } else {
        slot = goodbye.set(position.slot, text_of_slot(*after), position.slot_version);
      }
    }
    gone = !node && !run && !slot;
    if (gone) break;
    if (auto there = session.ready(limit); !there) return std::move(there).error();
    // A container goes by itself with the last slot in it.
    if (slot && position.slot_version < 0) {
      (void)session.send_create(slots_of(position.lock), "", ZOO_CONTAINER);
    }
    const auto asked = session.send(goodbye);
    Sweep sweep{session, position};
    if (parting.end) sweep.ask();
    auto committed = session.answer(asked, limit);
    if (committed) {
      sweep.finish(limit);
      position.node.clear();
      position.run.clear();
      if (after) position.slot_record = *after;
      gone = true;
      break;
    }
    const Rejected& rejected = committed.error();
    if (!rejected.at) return rejected.error.fault;
    if (rejected.at == node) {
      if (rejected.error.kind != Error::Kind::no_such_node) return rejected.error.fault;
      position.node.clear();
      // Whoever took the lock away may have said so; what says nothing says that it was lost.
      if (parting.end) return NotOurs{"its node is gone"};
      had_gone = true;
    } else if (rejected.at == run) {
      const bool is_gone = rejected.error.kind == Error::Kind::no_such_node;
      position.run.clear();  // there is no room for it any more, or nobody wants it
      if (!is_gone || !parting.end || std::exchange(forgotten, true)) continue;
      // Behind the names of those that were remembered since.
      const auto runs = session.get(runs_of(position.lock), Session::Watch::no, limit);
      if (!runs) return runs.error();
      if (*runs) position.run = run_node_of(position.lock, (*runs)->stat.pzxid, token);
    } else {
      if (auto there = read_slot(session, position, limit); !there) {
        return std::move(there).error();
      }
    }
  }
  if (!gone) return restless();
  if (had_gone) return NotOurs{"its node is gone"};
  return Released{};
}

}  // namespace store::zookeeper
