#include "store/zookeeper/zookeeper.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>

#include "base/log.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "store/zookeeper/queue.hpp"

namespace store::zookeeper {
namespace {

// A list may take long, a connection not.
constexpr Millis to_connect{5'000};

// Long enough to look and to act.
constexpr Millis session_length{10'000};

class ZooKeeperAdmin final : public LockAdmin {
 public:
  explicit ZooKeeperAdmin(ZooKeeper ensemble) : ensemble_{std::move(ensemble)} {}

  Result<LockReport> inspect(const LockName& name, const CallLimit& limit) override {
    if (auto there = connect(limit); !there) return std::move(there).error();
    return report(name, Listed::remembered, limit);
  }

  Result<Listing> list(const std::string& pattern, Listed which, Millis each_answer,
                       const CallLimit& limit) override {
    const auto one = [&] { return limit.at_most(Deadline::after(base::now(), each_answer)); };
    if (auto there = connect(one()); !there) return std::move(there).error();
    auto children = session_->children(ensemble_.base, one());
    if (!children) return std::move(children).error();
    std::vector<LockName> names;
    for (const auto& child : children->names) {
      const auto text = percent_decoded(child);
      const auto name = text ? LockName::from(*text) : std::nullopt;
      if (name && ::fnmatch(pattern.c_str(), text->c_str(), 0) == 0) names.push_back(*name);
    }
    std::sort(names.begin(), names.end());
    Listing listing;
    for (const LockName& name : names) {
      auto report = this->report(name, which, one());
      if (!report) {
        // Another user's: no reason to hide the others.
        const Fault fault = std::move(report).error();
        if (fault.kind != Fault::Kind::denied || names.size() == 1) return fault;
        base::log::error("'{}' is left out: {}", base::printable(name.text()), fault.why);
        continue;
      }
      if (is_listed(*report, which)) listing.locks.push_back(*std::move(report));
    }
    return listing;
  }

  Result<Removal> force_release(const LockName& name, const std::vector<Token>& shown,
                                const std::string& by, const CallLimit& limit) override {
    auto nodes = nodes_of(name, shown, limit);
    if (!nodes) return std::move(nodes).error();
    bool removed = false;
    for (const HeldNode& held : *nodes) {
      awaited_ = last_word_of(ensemble_, held.token);
      (void)session_->exists(awaited_, Session::Watch::yes, limit);
      auto erased = take_away(path_of(ensemble_, name), held, by, limit);
      if (!erased) return std::move(erased).error();
      removed = removed || *erased;
    }
    if (removed) return Removal{Removed{}};
    auto now = report(name, Listed::in_use, limit);
    if (!now) return std::move(now).error();
    if (now->holders.empty()) return Removal{Changed{}};
    return Removal{Changed{now->holders.front().holder}};
  }

  Result<std::size_t> ask_to_stop(const LockName& name, const std::vector<Token>& holders,
                                  const std::string& why, const CallLimit& limit) override {
    auto nodes = nodes_of(name, holders, limit);
    if (!nodes) return std::move(nodes).error();
    std::size_t asked = 0;
    for (const auto& [token, node] : *nodes) {
      auto written = session_->set(node, data_of(token, why), limit);
      if (!written) return std::move(written).error();
      if (!*written) continue;
      awaited_ = node;  // its holder removes it
      (void)session_->exists(awaited_, Session::Watch::yes, limit);
      ++asked;
    }
    return asked;
  }

  LastWord await_last_word(const LockName& /*name*/, const CallLimit& limit) override {
    if (!session_ || awaited_.empty()) return LastWord::silence;
    const bool changed = session_->process(limit, [&] { return session_->changed(awaited_); });
    return changed ? LastWord::stopped : LastWord::silence;
  }

 private:
  Result<base::Done> connect(const CallLimit& limit) {
    if (session_ && !session_->expired()) return base::Done{};
    auto opened = Session::open(ensemble_, session_length,
                                limit.at_most(Deadline::after(base::now(), to_connect)));
    if (!opened) return std::move(opened).error();
    session_ = *std::move(opened);
    return base::Done{};
  }

  struct HeldNode {
    Token token;
    std::string path;
  };

  /// The nodes of those of the tokens that hold the lock.
  Result<std::vector<HeldNode>> nodes_of(const LockName& name, const std::vector<Token>& tokens,
                                         const CallLimit& limit) {
    if (auto there = connect(limit); !there) return std::move(there).error();
    const std::string lock = path_of(ensemble_, name);
    auto queue = read_queue(*session_, lock, limit);
    if (!queue) return std::move(queue).error();
    std::vector<HeldNode> nodes;
    const auto holders = holders_in(*queue);
    for (std::size_t i = 0; i < holders; ++i) {
      const std::string path = lock + "/" + (*queue)[i].name;
      auto node = session_->get(path, Session::Watch::no, limit);
      if (!node) return std::move(node).error();
      if (!*node) continue;
      const Token token = data_in((*node)->data).token;
      if (std::find(tokens.begin(), tokens.end(), token) != tokens.end()) {
        nodes.push_back({token, path});
      }
    }
    return nodes;
  }

  /// Takes a holder's node away, and writes into its run, if that is remembered, who did.
  Result<bool> take_away(const std::string& lock, const HeldNode& held, const std::string& by,
                         const CallLimit& limit) {
    auto runs = session_->children(runs_of(lock), limit);
    if (!runs) return std::move(runs).error();
    const auto& names = runs->names;
    const auto name = std::find_if(names.begin(), names.end(),
                                   [&](const auto& each) { return is_run_of(each, held.token); });
    if (name != names.end()) {
      const std::string path = runs_of(lock) + "/" + *name;
      auto run = session_->get(path, Session::Watch::no, limit);
      if (!run) return std::move(run).error();
      if (*run) {
        const RunEnd end{{RunOutcome::Kind::lost}, "force-released by " + by};
        Transaction both;
        both.erase(held.path);
        both.set(path, text_of_ended((*run)->data, end), (*run)->stat.version);
        const auto committed = session_->commit(both, limit);
        if (committed) return true;
        const Fault& fault = committed.error().error.fault;
        if (fault.kind == Fault::Kind::silent) return fault;
        // It may have ended in between; or there is no memory of it, which is no reason to leave
        // it.
      }
    }
    return session_->erase(held.path, limit);
  }

  Result<LockReport> report(const LockName& name, Listed which, const CallLimit& limit) {
    return report_on(
        *session_, path_of(ensemble_, name), name, which, [&] { return server_ms(limit); }, limit);
  }

  /// The servers' time, if they tell it to whoever may write; else ours.
  std::int64_t server_ms(const CallLimit& limit) {
    const auto now =
        std::chrono::duration_cast<Millis>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    if (!clock_ahead_) {
      // Nobody says what time it is, but when a node was made. No key has such a name.
      const auto made =
          session_->create(ensemble_.base + "/%clock-", "", ZOO_EPHEMERAL_SEQUENTIAL, limit);
      clock_ahead_ = made ? made->stat.ctime - now : 0;
      if (made) (void)session_->erase(made->path, limit);
    }
    return now + *clock_ahead_;
  }

  ZooKeeper ensemble_;
  std::unique_ptr<Session> session_;
  std::string awaited_;                      // a node that changes when a job has stopped
  std::optional<std::int64_t> clock_ahead_;  // ms by which the servers' clock is ahead of ours
};

}  // namespace

std::unique_ptr<LockAdmin> open_admin(const ZooKeeper& ensemble) {
  return std::make_unique<ZooKeeperAdmin>(ensemble);
}

Findings examine(const ZooKeeper& ensemble, const LockName& name, const CallLimit& limit) {
  using Verdict = Finding::Verdict;
  Findings findings;
  auto opened = Session::open(ensemble, session_length, for_the_first_answer(limit));
  if (!opened) {
    return {{Verdict::fail, "reachable", opened.error().why,
             opened.error().kind == Fault::Kind::denied
                 ? "check user and password"
                 : "check the URL, the network, and the servers"}};
  }
  const Session& session = **opened;
  findings.push_back({Verdict::ok, "reachable", ensemble.hosts, ""});
  const bool as_wanted = session.timeout() == session_length;
  findings.push_back(
      {as_wanted ? Verdict::ok : Verdict::warn, "sessions",
       fmt::format("asked for {} ms, got {} ms", session_length.count(), session.timeout().count()),
       as_wanted ? "" : "leases are cut to minSessionTimeout and maxSessionTimeout"});
  const auto advice = [](const Fault&) {
    return "rlock needs the rights to create, read, write and delete below the path";
  };
  findings.push_back(try_locking(*open_store(ensemble), name, advice, limit));
  return findings;
}

}  // namespace store::zookeeper
