#include "library/server.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/text.hpp"
#include "os/thread.hpp"
#include "os/trusted_file.hpp"
#include "store/server_url.hpp"

namespace library {

bool LogHook::wants(base::log::Severity severity) const {
  return hook_ && static_cast<int>(severity) <= static_cast<int>(up_to_);
}

void LogHook::take(const base::log::Record& record) {
  hook_({static_cast<rlock::LogLine::Severity>(record.severity), record.text});
}

Process::Process(const store::ServerSpec& spec, std::shared_ptr<LogHook> hook)
    : log{std::move(hook)}, pool{spec, keeper}, keeper{log.get()} {}

}  // namespace library

namespace rlock {
inline namespace v0 {

Server::Impl::Impl(std::string_view url, ServerOptions given)
    : options{std::move(given)},
      log{std::make_shared<library::LogHook>(options.log, options.log_up_to)} {
  const store::ServerUrl text{std::string{url}};
  shown = text.shown();
  if (options.answer_time <= Millis{0}) {
    mistake = "an answer_time of more than 0";
    return;
  }
  std::vector<store::ServerSpec> servers;
  for (const auto& each : text.each()) {
    auto parsed = store::parse_server(each);
    if (!parsed) {
      mistake = fmt::format("the URL '{}' is not valid ({}); expected {}", each.shown(200),
                            parsed.error().why, store::accepted_servers());
      return;
    }
    servers.push_back(*std::move(parsed));
  }
  auto together = store::together(std::move(servers));
  if (!together) {
    mistake = fmt::format("'{}' is not valid ({})", shown, together.error().why);
    return;
  }
  spec = *std::move(together);
  if (options.password_file.empty()) {
    store::default_password(*spec, base::Secret{options.password});
    return;
  }
  const auto read = os::contents_of_secret(options.password_file);
  if (!read) {
    mistake = fmt::format("cannot use '{}': {}", base::printable(options.password_file),
                          read.error().text());
    return;
  }
  store::default_password(*spec, store::password_in(*read), options.password_file);
}

library::Process& Server::Impl::process() {
  return process_.get([this] { return std::make_unique<library::Process>(*spec, log); });
}

Server::Impl::~Impl() {
  auto ours = process_.take_out();
  if (!ours || !library::Keeper::is_in_one()) return;
  // The last handle ends in a callback: the thread cannot wait for itself.
  auto thread = os::Thread::start([last = ours.release()] { delete last; });
  if (thread) thread->detach();
}

Server::Server(std::string_view url, ServerOptions options)
    : impl_{std::make_shared<Impl>(url, std::move(options))} {}
Server::Server(const Server&) = default;
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(const Server&) = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

const std::string& Server::shown() const {
  return impl_->shown;
}

}  // namespace v0
}  // namespace rlock
