#include <algorithm>

#include "store/sessions/contender.hpp"
#include "store/sessions/report.hpp"
#include "store/sessions/store.hpp"

namespace store::sessions {
namespace {

// A list may take long, a connection not.
constexpr Millis to_connect{5'000};

// Long enough to look and to act.
constexpr Millis lease_of_admin{5'000};

class SessionAdmin final : public LockAdmin {
 public:
  explicit SessionAdmin(OpenSession open) : open_{std::move(open)} {}

  Result<LockReport> inspect(const LockName& name, const CallLimit& limit) override {
    if (auto there = connect(limit); !there) return std::move(there).error();
    return report_on(*session_, name, Listed::remembered, limit);
  }

  Result<Listing> list(const std::string& pattern, Listed which, Millis each_answer,
                       const CallLimit& limit) override {
    const auto one = [&] { return limit.at_most(Deadline::after(base::now(), each_answer)); };
    if (auto there = connect(one()); !there) return std::move(there).error();
    auto found = session_->names(pattern, one());
    if (!found) return std::move(found).error();
    auto& names = *found;
    std::sort(names.begin(), names.end());
    Listing listing;
    for (const LockName& name : names) {
      auto report = report_on(*session_, name, which, one());
      const auto end = report ? listing.add(*std::move(report), which)
                              : listing.add_unread(name, std::move(report).error());
      if (end) return *end;
    }
    return listing;
  }

  Result<Removal> force_release(const LockName& name, const std::vector<Token>& shown,
                                const std::string& by, const CallLimit& limit) override {
    auto nodes = nodes_of(name, shown, Of::holders, limit);
    if (!nodes) return std::move(nodes).error();
    bool removed = false;
    for (const HeldNode& held : *nodes) {
      awaited_.push_back(session_->last_word_of(nonce_of(held.text.token)));
      (void)get(*session_, awaited_.back(), Watch::yes, limit);
      auto erased = take_away(session_->places_of(name), held, by, limit);
      if (!erased) return std::move(erased).error();
      removed = removed || *erased;
    }
    if (removed) return Removal{Removed{}};
    auto now = report_on(*session_, name, Listed::in_use, limit);
    if (!now) return std::move(now).error();
    if (now->holders.empty()) return Removal{Changed{}};
    return Removal{Changed{now->holders.front().holder}};
  }

  Result<std::size_t> ask_to_stop(const LockName& name, const std::vector<Token>& whom,
                                  const std::string& why, const CallLimit& limit) override {
    auto nodes = nodes_of(name, whom, Of::all, limit);
    if (!nodes) return std::move(nodes).error();
    std::size_t asked = 0;
    for (HeldNode& each : *nodes) {
      const auto heard = write_stop(each, why, limit);
      if (!heard) return heard.error();
      if (*heard) ++asked;
    }
    return asked;
  }

  LastWord await_last_word(const LockName& /*name*/, const CallLimit& limit) override {
    if (!session_ || awaited_.empty()) return LastWord::silence;
    const bool heard = session_->process(limit, [&] {
      return std::erase_if(awaited_, [&](const auto& each) { return session_->changed(each); }) > 0;
    });
    return heard ? LastWord::stopped : LastWord::silence;
  }

 private:
  Result<base::Done> connect(const CallLimit& limit) {
    if (session_ && !session_->expired()) return base::Done{};
    auto opened =
        open_(*Ttl::from(lease_of_admin), limit.at_most(Deadline::after(base::now(), to_connect)));
    if (!opened) return std::move(opened).error();
    session_ = *std::move(opened);
    return base::Done{};
  }

  struct HeldNode {
    NodeText text;
    std::string path;
    Stat stat;
  };

  /// Asks the owner of a node to stop. False: it has gone.
  Result<bool> write_stop(HeldNode& node, const std::string& why, const CallLimit& limit) {
    awaited_.push_back(node.path);  // its owner removes it
    for (int tries = 0; tries < most_tries; ++tries) {
      node.text.stop = why;
      Round round;
      round.change.set(node.path, text_of(node.text), node.stat);
      const auto now = round.get(node.path, Watch::yes);
      const Answers answers = session_->ask(round, limit);
      if (answers.change) return true;
      auto written = unless_gone(answers.change);
      if (written || answers.change.error().error.kind != Error::Kind::node_changed) return written;
      // Its owner has written it in between: with the grant of a permit, that is its number.
      const auto& node_now = answers.nodes[now];
      if (!node_now) return node_now.error();
      if (!*node_now) return false;
      node.text = text_in((*node_now)->text);
      node.stat = (*node_now)->stat;
    }
    return restless();
  }

  enum class Of { holders, all };
  /// The nodes of those of the tokens that hold the lock, or of all.
  Result<std::vector<HeldNode>> nodes_of(const LockName& name, const std::vector<Token>& tokens,
                                         Of whose, const CallLimit& limit) {
    if (auto there = connect(limit); !there) return std::move(there).error();
    const Places places = session_->places_of(name);
    auto queue = read_queue(*session_, places, limit);
    if (!queue) return std::move(queue).error();
    std::vector<std::string> paths;
    const auto count = whose == Of::holders ? holders_in(*queue) : queue->size();
    for (std::size_t i = 0; i < count; ++i) {
      paths.push_back(places.queue + "/" + (*queue)[i].name);
    }
    const auto read = read_all(*session_, paths, limit);
    if (!read) return read.error();
    std::vector<HeldNode> nodes;
    for (std::size_t i = 0; i < count; ++i) {
      if (!(*read)[i]) continue;
      const Node& node = *(*read)[i];
      NodeText text = text_in(node.text);
      if (std::find(tokens.begin(), tokens.end(), text.token) != tokens.end()) {
        nodes.push_back({std::move(text), paths[i], node.stat});
      }
    }
    return nodes;
  }

  /// Takes a holder's node away, and writes into its run, if that is remembered, who did.
  Result<bool> take_away(const Places& places, const HeldNode& held, const std::string& by,
                         const CallLimit& limit) {
    Round look;
    look.children_of(places.runs);
    const auto runs = std::move(session_->ask(look, limit).children.front());
    if (!runs) return runs.error();
    const auto& names = runs->names;
    const auto name = std::find_if(names.begin(), names.end(), [&](const auto& each) {
      return is_run_of(each, held.text.token);
    });
    if (name != names.end()) {
      const std::string path = places.runs + "/" + *name;
      const auto run = get(*session_, path, Watch::no, limit);
      if (!run) return run.error();
      if (*run) {
        const RunEnd end{{RunOutcome::Kind::lost}, "force-released by " + by};
        Round both;
        both.change.erase(held.path);
        both.change.set(path, text_of_ended((*run)->text, end), (*run)->stat);
        const auto outcome = session_->ask(both, limit).change;
        if (outcome) return true;
        const Fault& fault = outcome.error().error.fault;
        if (fault.kind == Fault::Kind::silent) return fault;
        // It may have ended in between; or there is no memory of it, which is no reason to leave
        // it.
      }
    }
    Round removal;
    removal.change.erase(held.path);
    return unless_gone(session_->ask(removal, limit).change);
  }

  OpenSession open_;
  std::shared_ptr<Session> session_;
  std::vector<std::string> awaited_;  // nodes of which each changes when a job has stopped
};

}  // namespace

std::unique_ptr<LockAdmin> open_admin(OpenSession open) {
  return std::make_unique<SessionAdmin>(std::move(open));
}

}  // namespace store::sessions
