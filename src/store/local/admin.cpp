#include "store/local/local.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "base/log.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "store/local/lock_dir.hpp"

namespace store::local {
namespace {

using Missing = os::Missing;

class LocalAdmin final : public LockAdmin {
 public:
  explicit LocalAdmin(LocalDirectory directory) : directory_{std::move(directory)} {}

  Result<LockReport> inspect(const LockName& name, const CallLimit& limit) override {
    auto lock = LockDir::open(directory_, name, Missing::give_up, limit);
    if (!lock) return std::move(lock).error();
    LockReport report{name, std::nullopt, {}, lock->last_fence(), {}};
    if (const Memory* memory = lock->memory())
      report.runs = memory->runs(tokens_of(lock->queue().holders()));
    for (const QueueEntry& each : lock->queue().everyone()) {
      if (each.holds()) {
        if (report.holders.empty()) report.mode = each.mode;
        report.holders.push_back({holder_of(each, wall_now()), each.fence, each.permit});
      } else {
        const Millis waiting{std::max<WallTime>(wall_now() - each.since, 0)};
        report.waiters.push_back({each.token, each.mode, waiting});
      }
    }
    lock->forget_if_over();
    return report;
  }

  Result<Listing> list(const std::string& pattern, Listed which, Millis each_answer,
                       const CallLimit& limit) override {
    const auto all = open_directory(directory_, Missing::give_up);
    if (!all) return all.error();
    std::vector<LockName> names;
    const auto listed = all->for_each_name([&](std::string_view file) {
      const auto name = name_of(file);
      if (name && ::fnmatch(pattern.c_str(), name->text().c_str(), 0) == 0) names.push_back(*name);
    });
    if (!listed && !all->path().empty()) return fault_of(directory_.path, listed.error());
    std::sort(names.begin(), names.end());
    Listing listing;
    std::optional<Fault> fault;
    for (const LockName& name : names) {
      auto report = inspect(name, limit.at_most(Deadline::after(base::now(), each_answer)));
      if (!report) {
        // Another user's, perhaps: no reason to hide the others.
        base::log::error("'{}' is left out: {}", base::printable(name.text()), report.error().why);
        fault = std::move(report).error();
        continue;
      }
      if (which == Listed::in_use && report->runs.size() > 1)
        report->runs.erase(report->runs.begin() + 1, report->runs.end());
      if (is_listed(*report, which)) listing.locks.push_back(*std::move(report));
    }
    if (fault && listing.locks.empty()) return *std::move(fault);
    return listing;
  }

  Result<Removal> force_release(const LockName& name, const std::vector<Token>& shown,
                                const std::string& by, const CallLimit& limit) override {
    auto lock = LockDir::open(directory_, name, Missing::give_up, limit);
    if (!lock) return std::move(lock).error();
    bool removed = false;
    for (const Token& token : shown) {
      const QueueEntry* entry = lock->queue().find(token);
      if (entry == nullptr || !entry->holds()) continue;
      const auto ticket = entry->ticket;
      watch(*lock, ticket);
      lock->post(ticket, message::lost + by);
      if (const Memory* memory = lock->memory())
        memory->end_run(token, {{RunOutcome::Kind::lost}, "force-released by " + by}, Millis{0});
      lock->queue().remove(ticket);
      removed = true;
    }
    if (!removed) {
      return Removal{
          Changed{first_holder(lock->queue().holders(), Token::foreign(""), wall_now())}};
    }
    lock->wake_first();  // also if it may not hold yet: it has others to watch now
    return Removal{Removed{}};
  }

  Result<std::size_t> ask_to_stop(const LockName& name, const std::vector<Token>& whom,
                                  const std::string& why, const CallLimit& limit) override {
    auto lock = LockDir::open(directory_, name, Missing::give_up, limit);
    if (!lock) return std::move(lock).error();
    std::size_t asked = 0;
    for (const Token& token : whom) {
      const QueueEntry* entry = lock->queue().find(token);
      if (entry == nullptr || !lock->lives(entry->ticket)) continue;
      watch(*lock, entry->ticket);
      lock->post(entry->ticket, message::stop + why);
      ++asked;
    }
    return asked;
  }

  LastWord await_last_word(const LockName& /*name*/, const CallLimit& limit) override {
    // A holder lets go of its pipe when its job has stopped. Each is told of once.
    if (told_.empty() && !unwatched_) return LastWord::silence;
    std::vector<int> pipes;
    pipes.reserve(told_.size());
    for (const auto& fd : told_) pipes.push_back(fd.number());
    if (!os::wait_any({}, pipes, limit)) return LastWord::silence;
    const auto ended = std::find_if(told_.begin(), told_.end(), [](const os::Fd& fd) {
      return os::wait_any({}, {fd.number()}, {Deadline::at(base::now())});
    });
    if (ended != told_.end()) told_.erase(ended);
    return LastWord::stopped;
  }

 private:
  void watch(const LockDir& lock, std::uint64_t ticket) {
    if (told_.size() == LockDir::most_watched()) {
      unwatched_ = true;
    } else if (auto fd = lock.watch(ticket)) {
      told_.push_back(std::move(fd));
    }
  }

  LocalDirectory directory_;
  std::vector<os::Fd> told_;  // the pipes of the holders that were told
  bool unwatched_ = false;    // some were told that we do not watch
};

}  // namespace

std::unique_ptr<LockAdmin> open_admin(const LocalDirectory& directory) {
  return std::make_unique<LocalAdmin>(directory);
}

Findings examine(const LocalDirectory& directory, const LockName& name, const CallLimit& limit) {
  const bool is_own = !directory.private_root.empty();
  const Finding directory_itself{
      Finding::Verdict::ok, "directory",
      base::printable(directory.path) + (is_own ? ", of this user alone" : ""), ""};
  const auto advice = [](const Fault&) {
    return "the directory must be one in which you may make files and named pipes";
  };
  return {directory_itself, try_locking(*open_store(directory), name, advice, limit)};
}

}  // namespace store::local
