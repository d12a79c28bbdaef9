// The arithmetic of a session's length: how long a lease within it may be, from when it counts, and
// how long one server is tried before the next. No socket, no clock: time is passed in.
#pragma once

#include <algorithm>
#include <optional>

#include "store/lock_store.hpp"

namespace store::zookeeper {

// Servers tell their leader of a session's signs of life once a tick, 2 s usually; until then the
// leader would end it by what it knew before. So a session lasts longer than its lease, by half as
// long again and at least by a tick.
inline constexpr Millis usual_tick{2'000};

inline Millis session_for(Ttl ttl) {
  return ttl.length() + std::max(ttl.length() / 2, usual_tick);
}

/// The end of a session of that length, which no lease reaches: the time in which its leader hears
/// of an answer.
inline Millis margin_of(Millis session) {
  return std::max(session / 3, std::min(session / 2, usual_tick));
}

/// The lease within a session of that length.
inline Ttl lease_within(Millis session, Ttl wanted) {
  const auto longest = Ttl::from(session - margin_of(session));
  if (!longest) return *Ttl::from(Ttl::shortest);
  return longest->length() < wanted.length() ? *longest : wanted;
}

/// Judges what an answer proves. After a silence (of the servers, or ours while we are stopped)
/// that used up all of the session but its margin, a server answers, and the leader may end the
/// session before it hears of that: until then only what came before the silence counts.
class Contact {
 public:
  /// Something came from a server that was asked or waited for from `now` on.
  void heard(Moment now, Millis session) {
    const Millis margin = margin_of(session);
    if (heard_at_ && now - *heard_at_ > session - margin) silence_ = {*heard_at_, now + margin};
    heard_at_ = now;
  }
  /// From when a lease counts whose question was asked then.
  [[nodiscard]] Moment counts_from(Moment asked_at) const {
    return silence_ && asked_at < silence_->known_from ? std::min(asked_at, silence_->since)
                                                       : asked_at;
  }

 private:
  struct Silence {
    Moment since;
    Moment known_from;  // the leader has heard that it is over
  };
  std::optional<Moment> heard_at_;
  std::optional<Silence> silence_;
};

/// The time that one server is given to answer a connection. The library itself stays for two
/// thirds of the session with a server that takes a connection and says nothing (one that hangs,
/// or is cut off): longer than any lease in that session has left.
class ServerTrial {
 public:
  // For a word from the far end of the world; in a short session less, so that several tries fit
  // into what is left of a lease when a refresh was not answered.
  static constexpr Millis far_away{1'000};
  static constexpr Millis::rep tries_in_a_session = 20;
  // A waiter has all the time, but is to hear that its turn has come: half of the longest limit
  // that one answer is given.
  static constexpr Millis longest{2'500};

  /// When the server that is being connected to has had its time. The trial begins with the first
  /// call and may outlast the limit of that call: a later one finds it still under way.
  Deadline ends(Deadline limit, Millis session, Moment now) {
    if (!ends_) {
      // Another server is to have as much time; how many there are only the library knows.
      const Millis half = std::min(limit.left(now) / 2, longest);
      const Millis least = std::min(session / tries_in_a_session, far_away);
      ends_ = Deadline::after(now, std::max(half, least));
    }
    return *ends_;
  }
  [[nodiscard]] bool failed(Moment now) const { return ends_ && ends_->passed(now); }
  /// That server is connected to, or has gone: the next one is tried anew.
  void reset() { ends_.reset(); }

 private:
  std::optional<Deadline> ends_;
};

}  // namespace store::zookeeper
