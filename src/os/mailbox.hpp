// A queue between two threads with a descriptor to poll.
#pragma once

#include <sys/eventfd.h>

#include <deque>
#include <mutex>
#include <optional>

#include "os/error.hpp"
#include "os/fd.hpp"

namespace os {

/// post() from any thread, take() from any thread; descriptor() is readable while something waits.
template <class Message>
class Mailbox {
 public:
  Mailbox() : event_{check(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "creating an eventfd")} {}

  void post(Message message) {
    const std::lock_guard guard{mutex_};
    messages_.push_back(std::move(message));
    check(eventfd_write(event_.number(), 1), "posting a message");
  }

  std::optional<Message> take() {
    const std::lock_guard guard{mutex_};
    if (messages_.empty()) return std::nullopt;
    std::optional<Message> message{std::move(messages_.front())};
    messages_.pop_front();
    if (messages_.empty()) {
      eventfd_t count = 0;
      check(eventfd_read(event_.number(), &count), "taking a message");
    }
    return message;
  }

  [[nodiscard]] int descriptor() const { return event_.number(); }

 private:
  Fd event_;
  std::mutex mutex_;
  std::deque<Message> messages_;  // guarded by mutex_; event_ is readable exactly while this is not
                                  // empty
};

}  // namespace os
