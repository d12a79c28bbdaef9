// How a grant ends, or a wait: all that it has written is set right at once, and what is not to be
// remembered any longer is removed.
#include <algorithm>
#include <chrono>
#include <utility>

#include "store/rules/runs.hpp"
#include "store/sessions/contender.hpp"

namespace store::sessions {
namespace {

// Of the oldest runs, and of the slots, so many are looked at by each run, whether they are over.
constexpr std::size_t looked_at = 2;
// A superseded waiter comes back once its host runs again.
constexpr Millis superseded_for{3'600'000};

/// Removes what is not to be remembered any longer, as far as this was seen: the oldest runs beyond
/// those that are kept, and some of what is older than its --history.
class Sweep {
 public:
  explicit Sweep(const Contender& contender) : contender_{contender} {}

  /// Adds to the release the removal of surplus runs, and questions after what may be over.
  void add_to(Round& release);
  /// Takes the answers, and has removed what is over. Nobody waits for that.
  void finish(Session& session, const Answers& answers, const CallLimit& limit) const;

 private:
  [[nodiscard]] bool is_over(const std::string& path, const Node& node) const;
  void look_at(Round& release, const std::string& path) {
    asked_.push_back({path, release.get(path)});
  }

  const Contender& contender_;
  struct Doubtful {
    std::string path;
    std::size_t answer;
  };
  std::vector<Doubtful> asked_;
};

void Sweep::add_to(Round& release) {
  const Places& places = contender_.places;
  std::vector<std::string> paths;
  for (const auto& name : contender_.run.others) {
    auto path = places.runs + "/" + name;
    if (path != contender_.run.node) paths.push_back(std::move(path));
  }
  std::sort(paths.begin(), paths.end());
  const auto kept = rules::remembered_runs - 1;  // and ours
  const std::size_t surplus = paths.size() > kept ? paths.size() - kept : 0;
  for (std::size_t i = 0; i < surplus; ++i) {
    release.change.leftovers.emplace_back(paths[i], any_version);
  }
  for (std::size_t i = surplus; i < std::min(paths.size(), surplus + looked_at); ++i) {
    look_at(release, paths[i]);
  }
  // Those that it tells of have come back by now, if they ever will.
  if (contender_.past.is_admitted) look_at(release, places.superseded);
  const auto& names = contender_.slot.others;
  if (names.size() <= tolerated_slots) return;
  const auto start = contender_.change % names.size();
  for (std::size_t i = 0; i < looked_at; ++i) {
    const std::string path = places.slots + "/" + names[(start + i) % names.size()];
    if (path != contender_.slot.node) look_at(release, path);
  }
}

bool Sweep::is_over(const std::string& path, const Node& node) const {
  const auto now = contender_.server_ms();  // of the claim: what was over then is over
  const Places& places = contender_.places;
  if (path == places.superseded) return now - node.stat.written_ms > superseded_for.count();
  if (path.starts_with(places.runs + "/")) return is_forgotten(node, now);
  return is_forgotten(slot_in(node.text), node.stat.written_ms, now);
}

void Sweep::finish(Session& session, const Answers& answers, const CallLimit& limit) const {
  Round removal;
  for (const auto& [path, place] : asked_) {
    const auto& node = answers.nodes[place];
    if (!node || !*node) continue;
    if (is_over(path, **node)) removal.change.leftovers.emplace_back(path, (*node)->stat.version);
  }
  if (!removal.change.leftovers.empty()) (void)session.ask(removal, limit);
}

/// Of a run that took so long that fifty others were remembered since, and its node is gone.
std::string text_of_forgotten(const Contender& contender, const RunEnd& end) {
  if (!contender.own.made) return text_of_ended(contender.run.text, end);
  return text_of_ended_anew(contender.run.text, end, contender.own.made->created_by,
                            contender.own.made->created_ms);
}

/// A node as it was created, whatever has become of it.
Stat as_created(const std::optional<Stat>& own) {
  Stat before = own.value_or(Stat{});
  before.version = any_version;
  return before;
}

/// The end of our node: at once, or when --min-hold is over.
std::size_t add_goodbye(Transaction& goodbye, const Contender& contender, const Parting& parting) {
  const auto& own = contender.own;
  const auto now = base::now();
  const auto since = std::chrono::duration_cast<Millis>(now - contender.granted_at.value_or(now));
  if (parting.min_hold <= since) return goodbye.erase(own.path);
  NodeText text = own.text;
  text.is_kept = true;
  text.stop.reset();
  return goodbye.set_for(parting.min_hold - since, own.path, text_of(text), as_created(own.made));
}

/// The slot after the end of our run, or after a claim without a run; nothing: it does not change.
std::optional<SlotRecord> slot_after(const Contender& contender, const Token& token,
                                     const Parting& parting) {
  if (contender.slot.node.empty()) return std::nullopt;
  const auto& before = contender.slot.record.state;
  const Fence fence = contender.own.made ? contender.own.made->created_by : 0;
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
    Round round;
    Transaction& goodbye = round.change;
    std::optional<std::size_t> node;
    std::optional<std::size_t> run;
    std::optional<std::size_t> slot;
    if (!contender.own.path.empty()) node = add_goodbye(goodbye, contender, parting);
    if (!contender.run.node.empty() && forgotten) {
      run = goodbye.create(Transaction::Kind::lasting, contender.run.node,
                           text_of_forgotten(contender, *parting.end));
    } else if (!contender.run.node.empty()) {
      run = parting.end
                ? goodbye.set(contender.run.node, text_of_ended(contender.run.text, *parting.end),
                              as_created(contender.run.made))
                : goodbye.erase(contender.run.node);
    }
    const auto after = slot_after(contender, token, parting);
    if (after) {
      if (!contender.slot.stat) {
        slot =
            goodbye.create(Transaction::Kind::lasting, contender.slot.node, text_of_slot(*after));
      } else if (after->state.kind == rules::SlotState::Kind::none) {
        slot = goodbye.erase(contender.slot.node, contender.slot.stat->version);
      } else {
        slot = goodbye.set(contender.slot.node, text_of_slot(*after), *contender.slot.stat);
      }
    }
    gone = !node && !run && !slot;
    if (gone) break;
    Sweep sweep{contender};
    if (parting.end) sweep.add_to(round);
    const Answers answers = session.ask(round, limit);
    if (answers.change) {
      sweep.finish(session, answers, limit);
      contender.own.path.clear();
      contender.run.node.clear();
      if (after) contender.slot.record = *after;
      gone = true;
      break;
    }
    const Rejected& rejected = answers.change.error();
    if (!rejected.at) return rejected.error.fault;
    if (rejected.at == node) {
      if (rejected.error.kind != Error::Kind::no_such_node) return rejected.error.fault;
      contender.own.path.clear();
      // If we asked twice, it may have been the first question that removed it.
      if (answers.is_repeated) return Released{};
      // force-release has recorded the reason; a run without an end counts as lost.
      if (parting.end) return NotOurs{"its node is gone"};
      had_gone = true;
    } else if (rejected.at == run) {
      const bool is_gone = rejected.error.kind == Error::Kind::no_such_node;
      contender.run.node.clear();  // its node was removed, or the memory is full
      if (!is_gone || !parting.end || std::exchange(forgotten, true)) continue;
      // Behind the names of those that were remembered since.
      Round newest;
      newest.children_of(contender.places.runs);
      const auto runs = std::move(session.ask(newest, limit).children.front());
      if (!runs) return runs.error();
      contender.run.node = run_node_of(contender.places.runs, runs->change, token);
    } else {
      // Not another version: there is no room for a text, say.
      if (rejected.error.kind == Error::Kind::other) return rejected.error.fault;
      if (auto there = read_slot(session, contender, limit); !there) {
        return std::move(there).error();
      }
    }
  }
  if (!gone) return restless();
  if (had_gone) return NotOurs{"its node is gone"};
  return Released{};
}

}  // namespace store::sessions
