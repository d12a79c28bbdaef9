#include "store/local/local.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "base/result.hpp"
#include "base/text.hpp"
#include "store/local/lock_view.hpp"

namespace store::local {
namespace {

using Missing = os::Missing;

// A last word needs no address: a holder lets go of its pipe.
constexpr const char* nobody = "-";

class LocalAdmin final : public LockAdmin {
 public:
  explicit LocalAdmin(LocalDirectory directory) : directory_{std::move(directory)} {}

  Result<LockReport> inspect(const LockName& name, const CallLimit& limit) override {
    auto lock = LockDir::open(directory_, name, Missing::give_up, limit);
    if (!lock) return std::move(lock).error();
    const auto view = LockView::of(*lock, Waiters::all);
    if (!view) return view.error();
    auto report = view->report(name);
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
    for (const LockName& name : names) {
      auto report = inspect(name, limit.at_most(Deadline::after(base::now(), each_answer)));
      if (!report) {
        // Another user's, perhaps: no reason to hide the others.
        listing.unread.push_back({name, report.error()});
        continue;
      }
      if (which == Listed::in_use && report->runs.size() > 1)
        report->runs.erase(report->runs.begin() + 1, report->runs.end());
      if (const auto end = listing.add(*std::move(report), which)) return *end;
    }
    if (const auto gap = listing.gap(); gap && listing.locks.empty()) return *gap;
    return listing;
  }

  Result<Removal> force_release(const LockName& name, const std::vector<Token>& shown,
                                const std::string& by, const CallLimit& limit) override {
    auto lock = LockDir::open(directory_, name, Missing::give_up, limit);
    if (!lock) return std::move(lock).error();
    auto view = LockView::of(*lock, Waiters::first);
    if (!view) return std::move(view).error();
    for (const Token& each : shown) watch(*lock, each);
    return view->change(rules::ForceRelease{shown, by, nobody});
  }

  Result<std::size_t> ask_to_stop(const LockName& name, const std::vector<Token>& whom,
                                  const std::string& why, const CallLimit& limit) override {
    auto lock = LockDir::open(directory_, name, Missing::give_up, limit);
    if (!lock) return std::move(lock).error();
    auto view = LockView::of(*lock, Waiters::all);
    if (!view) return std::move(view).error();
    for (const Token& each : whom) watch(*lock, each);
    return view->change(rules::AskToStop{whom, why, nobody});
  }

  LastWord await_last_word(const LockName& /*name*/, const CallLimit& limit) override {
    // When its job has stopped. Each is told of once.
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
  void watch(LockDir& lock, const Token& token) {
    const QueueEntry* entry = lock.queue().find(token);
    if (entry == nullptr) return;
    const auto ticket = entry->ticket;
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
