#include "store/sessions/store.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "store/rules/waiting.hpp"
#include "store/sessions/contender.hpp"
#include "store/sessions/report.hpp"

namespace store::sessions {
namespace {

// While there is no connection, the session has to be given time to find another server.
constexpr Millis retry{200};
constexpr Millis for_an_answer{1'000};
// The interval at which a holder looks at its node: a watch may be deaf, or lie.
constexpr Millis listening{30'000};
// Between two looks that a watch asks for, after the first ones.
constexpr Millis between_looks{100};
constexpr int first_looks = 3;

/// A waiter's next look at what it waits for. Not all at once: each has an interval of its own.
Deadline next_look(const Token& token) {
  constexpr auto spread = static_cast<unsigned>(rules::heartbeat.count() / 4);
  unsigned number = 0;
  for (const char each : nonce_of(token)) number = number * 31 + static_cast<unsigned char>(each);
  return Deadline::after(base::now(), rules::heartbeat - Millis{number % spread});
}

/// Hears what happens to a holder's node. Shares the session with the store, and its thread.
/// `last_word` is the node to make when the job has stopped after `node` was taken away.
class SessionListener final : public Listener {
 public:
  SessionListener(std::shared_ptr<Session> session, std::string node, std::string last_word)
      : session_{std::move(session)},
        node_{std::move(node)},
        last_word_{std::move(last_word)},
        due_{Deadline::at(base::now())} {}

  [[nodiscard]] int descriptor() const override { return session_->descriptor(); }
  [[nodiscard]] Deadline due() const override { return due_; }

  void listen(const CallLimit& limit) override {
    const auto until = std::min(limit.until, Deadline::after(base::now(), for_an_answer));
    const auto watch = is_watched_ ? Watch::no : Watch::yes;
    const auto node = get(*session_, node_, watch, {until, limit.interrupt});
    if (!node) {
      due_ = Deadline::after(base::now(), retry);
      return;
    }
    is_watched_ = true;
    looked_at_ = base::now();
    due_ = Deadline::after(looked_at_, listening);
    if (!*node) {
      heard_ = Notice{Notice::Kind::lost, "its node was removed (force-released)", last_word_};
    } else if (const auto text = text_in((*node)->text); text.stop) {
      heard_ = Notice{Notice::Kind::stop, base::printable(*text.stop), ""};
    }
  }

  std::optional<Notice> take() override {
    session_->process({Deadline::at(base::now())}, [] { return false; });
    if (session_->expired()) return Notice{Notice::Kind::lost, "the session has expired", ""};
    // Only the server knows the change: listen() asks.
    if (session_->changed(node_)) {
      is_watched_ = false;
      due_ = Deadline::after(looked_at_, between_looks);
    }
    if (session_->descriptor() < 0) due_ = std::min(due_, Deadline::after(base::now(), retry));
    return std::exchange(heard_, std::nullopt);
  }

 private:
  std::shared_ptr<Session> session_;
  std::string node_;
  std::string last_word_;
  Deadline due_;
  bool is_watched_ = false;
  Moment looked_at_{};
  std::optional<Notice> heard_;
};

class SessionStore final : public LockStore {
 public:
  explicit SessionStore(OpenSession open) : open_{std::move(open)} {}

  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    if (auto there = connect(session_for(claim), limit); !there) return std::move(there).error();
    const Moment asked_at = base::now();  // a first server that hangs costs nothing of the lease
    contender_.places = session_->places_of(claim.name);
    contender_.slot.node = claim.slot ? slot_node_of(contender_.places.slots, *claim.slot) : "";
    auto attempt = enter(*session_, claim, contender_, asked_at, limit);
    unheard_ = std::holds_alternative<Fault>(attempt);
    if (std::holds_alternative<Queued>(attempt)) look_at_ = next_look(claim.token);
    if (auto* fault = std::get_if<Fault>(&attempt)) return after_silence(std::move(*fault), limit);
    auto* granted = std::get_if<Granted>(&attempt);
    if (claim.outlives && granted != nullptr) return hand_over(std::move(*granted), claim, limit);
    return attempt;
  }

  Turn await_turn(const Claim& claim, const CallLimit& limit) override {
    using State = Contender::Predecessor::State;
    auto& predecessor = contender_.predecessor;
    if (contender_.stop) return notice();
    if (predecessor.state == State::none) return ClaimAgain{};
    for (int looks = 0;;) {
      News news;
      const bool heard = session_->process(limit.at_most(look_at_), [&] {
        news = take_news();
        return news.is_some() || session_->expired();
      });
      if (!heard && !os::ended(limit)) {
        look_at_ = next_look(claim.token);
        if (auto turn = look(claim, limit)) return *std::move(turn);
        continue;
      }
      if (!heard) return StillWaiting{};
      if (news.gone && predecessor.state == State::last) predecessor.state = State::gone;
      if (session_->expired()) return ClaimAgain{"the session has expired"};
      if (news.own) {
        const auto there = look_at_own(*session_, contender_, limit);
        if (contender_.stop) return notice();
        if (!there || !*there) return lost_place();
      }
      if (news.slot) {
        // Many hear that it is done, of whom each is to say but one word more.
        const auto done = look_at_slot(*session_, contender_, limit);
        if (!done || *done) return ClaimAgain{};
      }
      // A holder's number is news for those behind it. Others have written a grant, or are to stop.
      const bool is_for_permit = claim.mode.kind == Mode::Kind::permits;
      if (news.gone || (news.written && is_for_permit)) return ClaimAgain{};
      if (!news.written) continue;
      if (++looks > first_looks) {
        const auto pause = Deadline::after(base::now(), between_looks);
        (void)session_->process(limit.at_most(pause), [] { return false; });
      }
      if (!watch_again(limit)) return ClaimAgain{};
    }
  }

  void withdraw(const Claim& claim, const CallLimit& limit) override {
    if (!session_) return;
    if (!session_->expired()) (void)leave(*session_, contender_, claim.token, {}, limit);
    // A node that was made unheard goes with the session, which ends with a goodbye that is heard.
    if (unheard_) (void)session_->await_connection(limit);
    session_.reset();
    contender_ = {};
  }

  Renewal renew(const LockName& name, const Token& token, Ttl ttl,
                const CallLimit& limit) override {
    if (!session_ || contender_.own.path.empty()) return renew_step(name, token, ttl, limit);
    const Moment asked_at = base::now();
    auto there = session_->keep(contender_.own.path, limit);
    if (session_->expired()) return NotOurs{"the session has expired"};
    if (!there) return after_silence(std::move(there).error(), limit);
    if (!*there) return NotOurs{"its node is gone"};
    const Moment from = std::min(asked_at, session_->lease_counts_from(asked_at));
    return Renewed{validity(from, ttl), asked_at};
  }

  Release release(const LockName& name, const Token& token, const Parting& parting,
                  const CallLimit& limit) override {
    if (!session_ || contender_.own.path.empty()) return release_step(name, token, parting, limit);
    if (session_->expired()) return NotOurs{"the session has expired"};
    const auto now = base::now();
    const CallLimit half = limit.at_most(Deadline::after(now, limit.until.left(now) / 2));
    auto left = leave(*session_, contender_, token, parting, half);
    const auto* fault = fault_in(left);
    if (fault == nullptr || fault->kind == Fault::Kind::denied) return left;
    // The other half is another server's. That our node is gone then was our doing.
    session_->leave_server();
    left = leave(*session_, contender_, token, parting, limit);
    if (std::holds_alternative<NotOurs>(left)) return Released{};
    return left;
  }

  Standing check(const LockName& name, const Token& token, const CallLimit& limit) override {
    auto held = step_with(name, token, limit);
    if (!held) return std::move(held).error();
    if (!*held) {
      const Places places = session_->places_of(name);
      const auto queue = read_queue(*session_, places, limit);
      if (!queue) return queue.error();
      return Elsewhere{first_holder(*session_, places, *queue, limit)};
    }
    const auto& own = (*held)->own;
    // A process that holds a lock stops its job in time, whatever the servers know of its session.
    Deadline until = Deadline::never();
    if (own.text.is_step) {
      const Moment asked_at = base::now();
      const auto left = session_->time_left(own.path, limit);
      if (!left) return left.error();
      if (!*left) return Elsewhere{};
      until = Deadline::after(asked_at, **left);
    }
    auto there = session_->keep(own.path, limit);  // what was read may be old
    if (!there) return std::move(there).error();
    if (!*there) return Elsewhere{};
    return StillOurs{until, own.made->created_by};
  }

  std::unique_ptr<Listener> listener(const LockName& /*name*/, const Token& token) override {
    if (!session_ || contender_.own.path.empty()) return nullptr;
    return std::make_unique<SessionListener>(session_, contender_.own.path,
                                             session_->last_word_of(nonce_of(token)));
  }

  void confirm_stopped(const LockName& /*name*/, const Notice& notice,
                       const CallLimit& limit) override {
    // A client that asked us to stop watches our node; one that took it away has to be told. The
    // word goes with the session, which ends soon.
    if (notice.kind != Notice::Kind::lost || !session_ || notice.reply_to.empty()) return;
    Round round;
    round.change.create(Transaction::Kind::ephemeral, notice.reply_to, "");
    (void)session_->ask(round, limit);
  }

 private:
  Result<base::Done> connect(Ttl ttl, const CallLimit& limit) {
    if (session_ && session_->expired()) {
      session_.reset();
      // Only the node of our run is left, if there is one.
      Contender anew;
      anew.past = std::move(contender_.past);
      anew.run.node = std::move(contender_.run.node);
      anew.run.is_refused = contender_.run.is_refused;
      contender_ = std::move(anew);
    }
    if (session_) return base::Done{};
    auto opened = open_(ttl, limit);
    if (!opened) return std::move(opened).error();
    session_ = *std::move(opened);
    return base::Done{};
  }

  /// A step that dies while it waits blocks those behind it until its session ends: not for as long
  /// as the lock that it wants.
  static Ttl session_for(const Claim& claim) {
    constexpr Millis longest{30'000};
    return claim.outlives && claim.ttl.length() > longest ? *Ttl::from(longest) : claim.ttl;
  }

  /// From now on other processes keep the lock: for the whole TTL from now on, whenever the session
  /// began and however long it lasts.
  Attempt hand_over(Granted granted, const Claim& claim, const CallLimit& limit) {
    const bool has_waited = contender_.past.is_admitted;
    if (!has_waited && session_for(claim).length() == claim.ttl.length()) {
      session_->give_away();
      return granted;
    }
    auto renewal = renew_step(claim.name, claim.token, claim.ttl, limit);
    if (auto* fault = std::get_if<Fault>(&renewal)) return after_silence(std::move(*fault), limit);
    if (std::holds_alternative<NotOurs>(renewal)) return place_lost();
    const auto& renewed = std::get<Renewed>(renewal);
    granted.lease.ttl = claim.ttl;
    granted.lease.valid_until = renewed.valid_until;
    granted.lease.asked_at = renewed.asked_at;
    return granted;
  }

  // ---- a hold that another process began ----

  Result<std::optional<Contender>> step_with(const LockName& name, const Token& token,
                                             const CallLimit& limit) {
    if (auto there = connect(*Ttl::from(Ttl::shortest), limit); !there) {
      return std::move(there).error();
    }
    return holder_with(*session_, session_->places_of(name), token, limit);
  }

  Renewal renew_step(const LockName& name, const Token& token, Ttl ttl, const CallLimit& limit) {
    for (int tries = 0; tries < most_tries; ++tries) {
      const auto held = step_with(name, token, limit);
      if (!held) return held.error();
      if (!*held) return NotOurs{"no such node holds it"};
      const auto& own = (*held)->own;
      if (!own.text.is_step) {
        return Fault{Fault::Kind::unusable,
                     "a running process holds it with this token, and refreshes it itself"};
      }
      const Moment asked_at = base::now();
      Round round;
      round.change.set_for(ttl.length(), own.path, text_of(own.text), *own.made);
      const auto written = session_->ask(round, limit).change;
      if (written) return Renewed{validity(asked_at, ttl), asked_at};
      const Error& error = written.error().error;
      const bool has_changed =
          error.kind == Error::Kind::node_changed || error.kind == Error::Kind::no_such_node;
      if (!has_changed) return error.fault;
    }
    return restless();
  }

  Release release_step(const LockName& name, const Token& token, const Parting& parting,
                       const CallLimit& limit) {
    auto held = step_with(name, token, limit);
    if (!held) return std::move(held).error();
    if (!*held) return NotOurs{"no such node holds it"};
    return leave(*session_, **held, token, parting, limit);
  }

  /// The changes while we wait.
  struct News {
    bool gone = false;     // a node that we wait for
    bool written = false;  // one of them
    bool own = false;
    bool slot = false;
    [[nodiscard]] bool is_some() const { return gone || written || own || slot; }
  };
  News take_news() {
    News news;
    for (const auto& path : contender_.predecessor.paths) {
      const auto change = session_->change_of(path);
      news.gone = news.gone || change == Session::Change::gone;
      news.written = news.written || change == Session::Change::written;
    }
    news.own = session_->changed(contender_.own.path);
    news.slot = !contender_.slot.node.empty() && session_->changed(contender_.slot.node);
    return news;
  }
  /// Whether the node that we wait for is still there.
  bool watch_again(const CallLimit& limit) {
    const auto& paths = contender_.predecessor.paths;
    return std::all_of(paths.begin(), paths.end(), [&](const auto& path) {
      const auto node = get(*session_, path, Watch::yes, limit);
      return node && *node;
    });
  }
  /// At the nodes that we wait for, and at ours, in case that a watch is deaf.
  std::optional<Turn> look(const Claim& claim, const CallLimit& limit) {
    if (claim.mode.kind == Mode::Kind::permits) return ClaimAgain{};
    auto& predecessor = contender_.predecessor;
    Round round;
    for (const auto& each : predecessor.paths) round.get(each);
    const auto own = round.get(contender_.own.path);
    std::optional<std::size_t> slot;
    if (!contender_.slot.node.empty()) slot = round.get(contender_.slot.node);
    const auto until = Deadline::after(base::now(), for_an_answer);
    const auto answers = session_->ask(round, limit.at_most(until));
    for (std::size_t i = 0; i < predecessor.paths.size(); ++i) {
      if (!answers.nodes[i]) return std::nullopt;  // the next look may have an answer
      if (*answers.nodes[i]) continue;
      using State = Contender::Predecessor::State;
      if (predecessor.state == State::last) predecessor.state = State::gone;
      return ClaimAgain{};
    }
    const auto& own_node = answers.nodes[own];
    if (own_node && !*own_node) return lost_place();
    if (own_node) contender_.note_own(**own_node);
    if (contender_.stop) return notice();
    if (!slot) return std::nullopt;
    const auto done = hear_of_slot(contender_, answers.nodes[*slot]);
    return done && *done ? std::optional<Turn>{ClaimAgain{}} : std::nullopt;
  }
  Turn lost_place() {
    contender_.predecessor = {};
    return ClaimAgain{};
  }
  [[nodiscard]] Turn notice() const {
    return Notice{Notice::Kind::stop, base::printable(*contender_.stop), ""};
  }

  /// After a server that had all the time there was, the next question goes to another one.
  Fault after_silence(Fault fault, const CallLimit& limit) {
    if (session_ && limit.until.passed(base::now())) session_->leave_server();
    return fault;
  }

  OpenSession open_;
  std::shared_ptr<Session> session_;
  Contender contender_;
  bool unheard_ = false;  // the outcome of the last claim
  Deadline look_at_ = Deadline::never();
};

}  // namespace

std::unique_ptr<LockStore> open_store(OpenSession open) {
  return std::make_unique<SessionStore>(std::move(open));
}

}  // namespace store::sessions
