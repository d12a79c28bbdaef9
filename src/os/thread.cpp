#include "os/thread.hpp"

#include <csignal>
#include <exception>
#include <memory>

#include "base/log.hpp"

namespace os {
namespace {

struct Start {
  std::function<void()> body;
  base::log::Sink* sink;
};

void* run(void* start) noexcept {
  const std::unique_ptr<Start> owned{static_cast<Start*>(start)};
  const base::log::ScopedSink scope{owned->sink};
  owned->body();
  return nullptr;
}

}  // namespace

Result<Thread> Thread::start(std::function<void()> body, std::size_t stack) {
  auto owned = std::make_unique<Start>(Start{std::move(body), base::log::sink()});
  pthread_attr_t attributes;
  pthread_t thread{};
  int error = ::pthread_attr_init(&attributes);
  if (error != 0) return Error{error, {}};
  error = ::pthread_attr_setstacksize(&attributes, stack);
  // Signals are for the threads of the program, which may be anybody's (see include/rlock).
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  if (error == 0) error = ::pthread_create(&thread, &attributes, run, owned.get());
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  if (error != 0) return Error{error, "starting a thread"};
  (void)owned.release();  // the thread owns it
  return Thread{thread};
}

Thread::~Thread() {
  if (joinable_) std::terminate();
}

void Thread::join() {
  if (const int error = ::pthread_join(thread_, nullptr); error != 0) {
    fail("waiting for a thread", error);
  }
  joinable_ = false;
}

void Thread::detach() {
  (void)::pthread_detach(thread_);  // it is joinable
  joinable_ = false;
}

}  // namespace os
