// The part that all handles of one server share: its connections, and the thread that refreshes its
// locks.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "library/keeper.hpp"
#include "library/pool.hpp"
#include "os/per_process.hpp"
#include "rlock/rlock.hpp"
#include "store/backend.hpp"

namespace library {

/// The lines of this server's calls and of its thread.
class LogHook final : public base::log::Sink {
 public:
  LogHook(std::function<void(const rlock::LogLine&)> hook, rlock::LogLine::Severity up_to)
      : hook_{std::move(hook)}, up_to_{up_to} {}
  [[nodiscard]] bool wants(base::log::Severity severity) const override;
  void take(const base::log::Record& record) override;

 private:
  std::function<void(const rlock::LogLine&)> hook_;
  rlock::LogLine::Severity up_to_;
};

/// A child after fork(2) cannot use its parent's: it shares the connections, and has no such
/// thread.
struct Process {
  Process(const store::ServerSpec& spec, std::shared_ptr<LogHook> hook);

  std::shared_ptr<LogHook> log;
  StorePool pool;
  Keeper keeper;  // ends before the pool, whose connections it uses
};

}  // namespace library

struct rlock::v0::Server::Impl {
  Impl(std::string_view url, ServerOptions given);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Of the calling process: a child after fork(2) has its own, and never touches its parent's.
  /// Only if there is no `mistake`.
  library::Process& process();

  ServerOptions options;
  std::string shown;
  std::optional<store::ServerSpec> spec;
  std::string mistake{};  // unless empty: what is wrong with the URL or the options
  std::shared_ptr<library::LogHook> log;

 private:
  os::PerProcess<library::Process> process_{};
};
