#include <algorithm>
#include <deque>

#include "os/host.hpp"
#include "store/records/change.hpp"
#include "store/rules/granted.hpp"
#include "store/rules/posts.hpp"
#include "store/rules/waiting.hpp"

namespace store::records {
namespace {

using rules::Own;

// The pause between attempts to connect. No hurry: a refresh would find out the same.
constexpr Millis reconnect{1'000};
// The interval at which a holder checks for missed letters: a connection may die unnoticed.
constexpr Millis listening{30'000};
// A sign of life takes two statements, because others have changed the record since the last one:
// in such intervals, less than one statement in ten seconds. The queue passes over a dead waiter as
// soon as its turn comes.
constexpr rules::Pace pace{Millis{28'000}, Millis{70'000}};
// Where posts do not arrive, waiters poll: the first one soon, others when their turn may be near.
constexpr Millis first_looks_in{250};
constexpr Millis near_looks_in{1'000};
constexpr Millis others_look_in{5'000};
constexpr std::size_t near = 10;

NotOurs not_ours(Own what) {
  return {what == Own::nobodys ? "nobody has the lock any more" : "the lock has another holder"};
}

/// How long a waiter at that position may sleep without a post.
Millis sleep_at(const Queued& place) {
  if (!place.holder) return rules::second_look;
  // Not all at once, or each would lose the swap to another.
  constexpr auto longest = pace.heartbeat.count();
  const Millis sleep{os::random_between(longest * 3 / 4, longest)};
  return std::min(sleep, place.look_in.value_or(sleep) + Millis{1});
}

/// How long a waiter with `ahead` waiters before it rests between polls; not all at once.
Millis rest_of(std::size_t ahead) {
  const Millis rest = ahead == 0 ? first_looks_in : ahead < near ? near_looks_in : others_look_in;
  return Millis{os::random_between(rest.count() * 3 / 4, rest.count() * 5 / 4)};
}

std::optional<Notice> notice_for(const Token& whom, const Seen& seen) {
  for (const auto& each : letters_for(whom.text(), seen)) {
    if (auto notice = rules::notice_in(each)) return notice;
  }
  return std::nullopt;
}

/// Receives the notices for one holder. The record keeps each for a minute, in case the holder was
/// disconnected.
class RecordListener final : public Listener {
 public:
  RecordListener(std::unique_ptr<Records> records, LockName name, Token token)
      : records_{std::move(records)}, name_{std::move(name)}, token_{std::move(token)} {}

  [[nodiscard]] int descriptor() const override { return records_->descriptor(); }
  [[nodiscard]] Deadline due() const override { return due_; }

  void listen(const CallLimit& limit) override {
    due_ = Deadline::after(base::now(), reconnect);
    const auto posts = records_->listen(name_, token_.text(), limit);
    if (!posts) return;
    const auto seen = changes_.look_at(name_, limit);
    if (!seen) return;
    for (auto& each : letters_for(token_.text(), *seen)) missed_.push_back(std::move(each));
    due_ = Deadline::after(base::now(), *posts == Posts::arrive ? listening : others_look_in);
  }

  std::optional<Notice> take() override {
    while (auto word = next()) {
      auto notice = rules::notice_in(*word);
      if (!notice || std::count(heard_.begin(), heard_.end(), *word) > 0) continue;
      heard_.push_back(*std::move(word));
      if (heard_.size() > most_heard) heard_.pop_front();
      return notice;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t most_heard = 16;

  std::optional<std::string> next() {
    if (!missed_.empty()) {
      auto word = std::move(missed_.front());
      missed_.pop_front();
      return word;
    }
    if (records_->descriptor() < 0) return std::nullopt;
    auto post = records_->take();
    if (post) return *std::move(post);
    due_ = Deadline::after(base::now(), reconnect);
    return std::nullopt;
  }

  std::unique_ptr<Records> records_;
  Changes changes_{*records_};
  LockName name_;
  Token token_;
  Deadline due_ = Deadline::at(base::now());
  std::deque<std::string> missed_{};  // found in the record
  std::deque<std::string> heard_{};   // to skip a notice that arrives both ways
};

class RecordStore final : public LockStore {
 public:
  explicit RecordStore(OpenRecords open) : open_{std::move(open)}, records_{open_()} {}

  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    const Moment asked_at = base::now();
    rules::Enter enter{claim, ticket_, {}, pace};
    // Once we are in the queue, supersede must not dismiss later waiters.
    if (ticket_) enter.claim.supersede.clear();
    if (lost_try_) {
      enter.tried = std::max(base::ceil<Millis>(asked_at - *lost_try_), Millis{1});
    }
    const auto is_grant = [](const auto& entered) {
      return std::holds_alternative<rules::Grant>(entered);
    };
    auto entered = changes_.change(claim.name, enter, is_grant, limit);
    if (!entered) {
      if (entered.error().kind == Fault::Kind::silent && !lost_try_) lost_try_ = asked_at;
      return std::move(entered).error();
    }
    const Seen& after = entered->after;
    return base::match(
        std::move(entered->answer),
        [&](const rules::Grant& grant) -> Attempt {
          const auto valid_until = validity(after.asked_at, claim.ttl);
          return Granted{lease_of(grant, claim, after.asked_at, valid_until), {}, grant.again};
        },
        [&](const Queued& queued) -> Attempt {
          ticket_ = queued.ticket;
          look_at_ = Deadline::after(base::now(), sleep_at(queued));
          seen_version_ = after.version;
          ahead_ = queued.ahead;
          // Finds a letter whose post was lost.
          notice_ = notice_for(claim.token, after);
          return queued;
        },
        [](const Busy& busy) -> Attempt { return busy; },
        [](const ModeConflict& conflict) -> Attempt { return conflict; },
        [](const SlotDone& done) -> Attempt { return done; },
        [](const rules::NoHigherFence& none) -> Attempt { return fault_of(none); });
  }

  Turn await_turn(const Claim& claim, const CallLimit& limit) override {
    if (notice_) return *std::exchange(notice_, std::nullopt);
    if (listens_for_ != claim.token) {
      auto heard = records_->listen(claim.name, claim.token.text(), limit);
      if (!heard) return cut_off(std::move(heard).error(), limit);
      listens_for_ = claim.token;
      posts_ = *heard;
      auto missed = look_for_missed(claim, limit);
      if (!missed) return cut_off(std::move(missed).error(), limit);
      if (*missed) return **std::move(missed);
    }
    auto rest_ends = Deadline::after(base::now(), rest_of(ahead_));
    for (;;) {
      auto post = records_->take();
      if (!post) return cut_off(std::move(post).error(), limit);
      if (*post) {
        changes_.forget();  // it came with another client's change
        if (auto notice = rules::notice_in(**post)) return *std::move(notice);
        if (**post != "next") return ClaimAgain{};
        look_at_ = std::min(look_at_, Deadline::after(base::now(), rules::second_look));
      }
      if (look_at_.passed(base::now())) return ClaimAgain{};
      if (os::ended(limit)) return StillWaiting{};
      if (posts_ == Posts::do_not_arrive && rest_ends.passed(base::now())) {
        auto missed = look_for_missed(claim, limit);
        if (!missed) return cut_off(std::move(missed).error(), limit);
        if (*missed) return **std::move(missed);
        rest_ends = Deadline::after(base::now(), rest_of(ahead_));
      }
      const auto until = posts_ == Posts::arrive ? look_at_ : std::min(look_at_, rest_ends);
      (void)os::wait_for(records_->descriptor(), os::Want::read, limit.at_most(until));
    }
  }

  void withdraw(const Claim& claim, const CallLimit& limit) override {
    // If no answer arrives, our position ends with our patience, and an unheard grant with its
    // lease. The connection may be dead without a sign: keep half of the time for a new one.
    const auto now = base::now();
    const CallLimit first = limit.at_most(Deadline::after(now, limit.until.left(now) / 2));
    const auto answer = changes_.change(claim.name, rules::Cancel{claim}, first);
    const bool unheard = !answer && answer.error().kind == Fault::Kind::silent;
    if (unheard && !os::ended(limit)) {
      (void)changes_.change(claim.name, rules::Cancel{claim}, limit);
    }
  }

  Renewal renew(const LockName& name, const Token& token, Ttl ttl,
                const CallLimit& limit) override {
    const auto is_ours = [](Own own) { return own == Own::ours; };
    auto refreshed = changes_.change(name, rules::Refresh{token, ttl}, is_ours, limit);
    if (!refreshed) return std::move(refreshed).error();
    if (refreshed->answer != Own::ours) return not_ours(refreshed->answer);
    const Moment asked_at = refreshed->after.asked_at;
    return Renewed{validity(asked_at, ttl), asked_at};
  }

  Release release(const LockName& name, const Token& token, const Parting& parting,
                  const CallLimit& limit) override {
    // A finished slot must stay finished; any other lock ends with its lease as well.
    const auto keeps = [&](Own /*own*/) { return parting.slot.has_value(); };
    auto left = changes_.change(name, rules::Leave{token, parting}, keeps, limit);
    if (!left) return std::move(left).error();
    if (left->answer != Own::ours) return not_ours(left->answer);
    return Released{};
  }

  Standing check(const LockName& name, const Token& token, const CallLimit& limit) override {
    auto seen = changes_.look_at(name, limit);
    if (!seen) return std::move(seen).error();
    rules::settle(seen->record.state, seen->facts);
    const auto held = rules::check(seen->record.state, token, seen->facts);
    if (!held) return Elsewhere{rules::holder_of(seen->record.state, seen->facts)};
    return StillOurs{validity(seen->asked_at, held->left), held->fence};
  }

  std::unique_ptr<Listener> listener(const LockName& name, const Token& token) override {
    return std::make_unique<RecordListener>(open_(), name, token);
  }

  void confirm_stopped(const LockName& name, const Notice& notice,
                       const CallLimit& limit) override {
    if (notice.reply_to.empty()) return;
    (void)changes_.change(name, rules::LastWordTo{notice.reply_to}, limit);
  }

 private:
  /// The connection for posts is gone, or the time is up.
  Turn cut_off(Fault fault, const CallLimit& limit) {
    listens_for_.reset();
    if (os::ended(limit)) return StillWaiting{};
    if (fault.kind == Fault::Kind::denied) return fault;
    return ClaimAgain{std::move(fault.why)};
  }

  /// Events from before we listened: letters are in the record, and any other event changed it.
  Result<std::optional<Turn>> look_for_missed(const Claim& claim, const CallLimit& limit) {
    auto seen = changes_.look_at(claim.name, limit);
    if (!seen) return std::move(seen).error();
    if (auto notice = notice_for(claim.token, *seen)) return std::optional<Turn>{*notice};
    if (seen->version != seen_version_) return std::optional<Turn>{ClaimAgain{}};
    return std::optional<Turn>{};
  }

  OpenRecords open_;
  std::unique_ptr<Records> records_;
  Changes changes_{*records_};

  // Our ticket in the queue, the last version of the record with us in it, and the next look's
  // time.
  std::optional<std::uint64_t> ticket_{};
  std::uint64_t seen_version_ = 0;
  std::size_t ahead_ = 0;
  Deadline look_at_ = Deadline::never();
  std::optional<Token> listens_for_{};  // its posts arrive here
  Posts posts_ = Posts::arrive;
  std::optional<Notice> notice_{};  // found in the record
  // The first try that the server may have processed although its answer was lost.
  std::optional<Moment> lost_try_{};
};

}  // namespace

std::unique_ptr<LockStore> open_store(OpenRecords open) {
  return std::make_unique<RecordStore>(std::move(open));
}

}  // namespace store::records
