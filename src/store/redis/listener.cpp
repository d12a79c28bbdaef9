#include "store/redis/listener.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "os/host.hpp"
#include "os/mailbox.hpp"
#include "os/poll.hpp"
#include "store/redis/client.hpp"
#include "store/redis/keys.hpp"
#include "store/rules/posts.hpp"

namespace store::redis {
namespace {

// BLPOP returns after this and is sent again, which reveals a dead connection.
constexpr Millis listening{60'000};
constexpr Millis late_for_listener{5'000};
// The pause between attempts to connect. No hurry: a refresh would find out the same.
constexpr Millis reconnect{1'000};
// The pause after a redirection, doubling up to `reconnect`: nodes that disagree must not keep us
// busy.
constexpr Millis redirection{20};
// How many waits may end at once before we pause: the mailbox can hold that many wakes from the
// time of our own wait.
constexpr int most_at_once = 16;

using Mailboxes = std::vector<std::string>;

/// A wait in mailboxes that is sent again whenever it has ended.
class MailWait {
 public:
  struct Letter {
    std::string mailbox;
    std::string text;
  };

  explicit MailWait(const RedisServer& server) : client_{server}, due_{Deadline::at(base::now())} {}

  [[nodiscard]] int descriptor() const { return client_.descriptor(); }
  /// Grows with each wait: its connection may be another one of the same number.
  [[nodiscard]] unsigned count() const { return count_; }
  /// The latest time for the next restart().
  [[nodiscard]] Deadline due() const { return due_; }
  /// Whether it was restarted, or went on, a moment ago.
  [[nodiscard]] bool is_young() const { return base::now() - blocked_at_ < reconnect; }
  /// Whether the server has refused to wait in several mailboxes at once.
  [[nodiscard]] bool is_refused() const { return refused_; }

  /// The last letter was one to wait for, of which a server has no endless number.
  void note_use() { at_once_ = 0; }

  void restart(const Mailboxes& mailboxes, const CallLimit& limit) {
    client_.drop();
    block(mailboxes, limit);
  }

  /// The next letter that is there. Never blocks. Asks `mailboxes` where to go on waiting.
  template <class Where>
  std::optional<Letter> take(const Where& mailboxes) {
    // Without a connection there are no letters, and due() must not move.
    if (client_.descriptor() < 0) return std::nullopt;
    const CallLimit at_once{Deadline::at(base::now())};
    auto answer = client_.receive(at_once);
    if (answer && !*answer) return std::nullopt;
    if (!answer || (*answer)->is_error()) {
      const bool redirected = answer && client_.follow((*answer)->text());
      refused_ = refused_ || (answer && (*answer)->text().starts_with("CROSSSLOT"));
      if (!redirected) client_.leave();
      if (!is_young()) redirection_ = redirection;
      due_ = Deadline::after(base::now(), redirected ? redirection_ : reconnect);
      redirection_ = std::min(redirection_ * 2, reconnect);
      return std::nullopt;
    }
    Letter letter{std::string{(**answer)[0].text()}, std::string{(**answer)[1].text()}};
    // Otherwise, a server that answers each wait at once would keep us asking as fast as it
    // answers.
    at_once_ = is_young() ? at_once_ + 1 : 0;
    if (at_once_ <= most_at_once) {
      block(mailboxes(), at_once);
    } else {
      client_.drop();
      due_ = Deadline::after(base::now(), reconnect);
    }
    return letter;
  }

 private:
  void block(const Mailboxes& mailboxes, const CallLimit& limit) {
    const bool failed = !client_.send(blocking_pop(mailboxes, listening), limit);
    ++count_;
    blocked_at_ = base::now();
    due_ = Deadline::after(blocked_at_, failed ? reconnect : listening + late_for_listener);
  }

  Client client_;
  Deadline due_;
  Moment blocked_at_{};
  Millis redirection_{redirection};
  unsigned count_ = 0;
  int at_once_ = 0;
  bool refused_ = false;
};

class RedisListener final : public Listener {
 public:
  RedisListener(const RedisServer& server, std::string mailbox)
      : wait_{server}, mailbox_{std::move(mailbox)} {}

  [[nodiscard]] int descriptor() const override { return wait_.descriptor(); }
  [[nodiscard]] Deadline due() const override { return wait_.due(); }
  void listen(const CallLimit& limit) override { wait_.restart({mailbox_}, limit); }
  std::optional<Notice> take() override {
    while (const auto letter = wait_.take([&] { return Mailboxes{mailbox_}; })) {
      if (auto notice = rules::notice_in(letter->text)) return notice;
    }
    return std::nullopt;
  }

 private:
  MailWait wait_;
  std::string mailbox_;
};

class RedisListenerGroup final : public ListenerGroup,
                                 public std::enable_shared_from_this<RedisListenerGroup> {
 public:
  explicit RedisListenerGroup(RedisServer server)
      : server_{std::move(server)}, wait_{server_}, teller_{server_} {}

  std::unique_ptr<Listener> listener(const LockName& name, const Token& token) override;

  [[nodiscard]] const RedisServer& server() const { return server_; }
  /// Readable while one of its listeners has a notice, or may have one. Without a descriptor to
  /// spare, only when something has arrived.
  [[nodiscard]] int descriptor() {
    const std::pair now{wait_.descriptor(), wait_.count()};
    if (either_ && now == polled_) return either_->descriptor();
    try {
      either_.emplace(std::vector{now.first, undelivered_.descriptor()});
    } catch (const std::system_error&) {
      return now.first;
    }
    polled_ = now;
    return either_->descriptor();
  }
  [[nodiscard]] Deadline due() const { return std::min(wait_.due(), end_of_wait_); }
  [[nodiscard]] bool is_refused() const { return wait_.is_refused(); }

  void listen(const LockName& name, const std::string& mailbox, const CallLimit& limit) {
    const bool is_new = join(mailbox);
    if (!bell_) bell_.emplace(name);
    // After a fault it is not yet time.
    const bool connected = wait_.descriptor() >= 0;
    if (!connected && !wait_.due().passed(base::now())) return;
    if (!connected || due().passed(base::now()) || (!is_new && !wait_.is_young())) {
      wait_.restart(mailboxes(), limit);
    } else if (is_new) {
      end_the_wait(limit);
    }
  }

  std::optional<Notice> take(const std::string& mailbox) {
    sort_letters();
    const std::lock_guard guard{mutex_};
    const auto own = notices_.find(mailbox);
    if (own == notices_.end() || own->second.empty()) return std::nullopt;
    auto first = std::move(own->second.front());
    own->second.pop_front();
    (void)undelivered_.take();
    return first;
  }

  /// Any thread.
  void leave(const std::string& mailbox) {
    const std::lock_guard guard{mutex_};
    const auto own = notices_.find(mailbox);
    if (own == notices_.end()) return;
    for (auto left = own->second.size(); left > 0; --left) (void)undelivered_.take();
    notices_.erase(own);
  }

 private:
  bool join(const std::string& mailbox) {
    const std::lock_guard guard{mutex_};
    return notices_.try_emplace(mailbox).second;
  }

  /// Where to wait from now on.
  Mailboxes mailboxes() {
    Mailboxes all{bell_mailbox()};
    const std::lock_guard guard{mutex_};
    for (const auto& [mailbox, notices] : notices_) all.push_back(mailbox);
    told_ = false;
    end_of_wait_ = Deadline::never();
    return all;
  }

  /// The wait is to go on with one more mailbox. Closing its connection could lose a letter.
  void end_the_wait(const CallLimit& limit) {
    told_ = true;
    sort_letters();
    if (!told_) return;  // it had just ended
    const auto told = teller_.run_script(scripts::tell, *bell_, {bell_id_, "next"}, limit);
    if (!told || told->is_error()) return wait_.restart(mailboxes(), limit);
    // Unless its connection is dead.
    if (told_) end_of_wait_ = Deadline::after(base::now(), reconnect);
  }

  void sort_letters() {
    while (const auto letter = wait_.take([&] { return mailboxes(); })) {
      auto notice = rules::notice_in(letter->text);
      const std::lock_guard guard{mutex_};
      const auto whose = notices_.find(letter->mailbox);
      if (!notice || whose == notices_.end()) continue;
      if (whose->second.empty()) wait_.note_use();
      whose->second.push_back(*std::move(notice));
      undelivered_.post({});
    }
  }

  [[nodiscard]] std::string bell_mailbox() const { return LockKeys{*bell_}.mailbox + bell_id_; }

  struct Undelivered {};

  RedisServer server_;
  MailWait wait_;
  os::Mailbox<Undelivered> undelivered_{};  // as many as there are notices
  std::optional<os::PollSet> either_{};
  std::pair<int, unsigned> polled_{-2, 0};
  Client teller_;
  std::optional<LockName> bell_;  // a lock beside whose mailboxes is the one that ends the wait
  std::string bell_id_ = "bell-" + os::random_hex(10);
  bool told_ = false;
  Deadline end_of_wait_ = Deadline::never();           // by then the bell must have ended it
  std::mutex mutex_;                                   // guards what follows
  std::map<std::string, std::deque<Notice>> notices_;  // by mailbox
};

/// A holder's part of a group.
class GroupListener final : public Listener {
 public:
  GroupListener(std::shared_ptr<RedisListenerGroup> group, LockName name, std::string mailbox)
      : group_{std::move(group)}, name_{std::move(name)}, mailbox_{std::move(mailbox)} {}
  GroupListener(const GroupListener&) = delete;
  GroupListener& operator=(const GroupListener&) = delete;
  ~GroupListener() override {
    try {
      group_->leave(mailbox_);
    } catch (const std::system_error&) {
      // The descriptor is gone: the program has closed all that it has.
    }
  }

  [[nodiscard]] int descriptor() const override {
    return own_ ? own_->descriptor() : group_->descriptor();
  }
  [[nodiscard]] Deadline due() const override {
    if (own_) return own_->due();
    return joined_ ? group_->due() : Deadline::at({});
  }
  void listen(const CallLimit& limit) override {
    if (!own_ && group_->is_refused()) own_ = open_listener(group_->server(), mailbox_);
    if (own_) return own_->listen(limit);
    group_->listen(name_, mailbox_, limit);
    joined_ = true;
  }
  std::optional<Notice> take() override { return own_ ? own_->take() : group_->take(mailbox_); }

 private:
  std::shared_ptr<RedisListenerGroup> group_;
  LockName name_;
  std::string mailbox_;
  std::unique_ptr<Listener> own_{};
  bool joined_ = false;
};

std::unique_ptr<Listener> RedisListenerGroup::listener(const LockName& name, const Token& token) {
  return std::make_unique<GroupListener>(shared_from_this(), name,
                                         LockKeys{name}.mailbox + token.text());
}

}  // namespace

std::unique_ptr<Listener> open_listener(const RedisServer& server, std::string mailbox) {
  return std::make_unique<RedisListener>(server, std::move(mailbox));
}

std::shared_ptr<ListenerGroup> open_listener_group(const RedisServer& server) {
  return std::make_shared<RedisListenerGroup>(server);
}

}  // namespace store::redis
