// Shows that the two versions of a lock's rules agree: sends the same random requests to the
// scripts on a simulated server and to store/rules. After each, the answer, the messages to other
// processes and the lock must be the same. See scripts/simulate --shape rules.
//
// Intended differences, which are not compared:
// - At the exact millisecond of an expiry a key still exists for Redis, and not for store/rules; no
//   request comes at such a time.
// - When the clock is set back, Redis has expired parts again until a client that may write looks
//   for them; here a client looks first.
// - Of two waiters with the same ticket (both lost their positions, and the clock was set back)
//   Redis prefers the name that sorts first, store/rules the earlier entry; a sequence ends there.
// - A queue of Redis expires a minute after its last waiter, with the dead in it; here it does not.
// - A mailbox of Redis lives on for a while after its last message; a letter has its own expiry.
// - Redis drops 64 dead waiters at a time, store/rules all of them; there are never that many here.
// - Redis shows the first 400 bytes of a token; none is longer here.
// - store/rules has no bids or raised fences of a quorum's node.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <stdexcept>

#include "random.hpp"
#include "rules_sides.hpp"
#include "rules_text.hpp"

namespace sim {

store::LockName lock_of_rules() {
  return *store::LockName::from("lock");
}

const std::vector<std::string>& slots_of_rules() {
  static const std::vector<std::string> slots{"2026-11-25", "2026-11-26"};
  return slots;
}

namespace {

using namespace store;

// A request for each of these, but for what the server does by itself.
struct OneClient {
  Claim claim;
  std::optional<std::uint64_t> ticket{};  // it stands in the queue
  rules::RunNumber number{};              // of the run that it was granted
  Fence fence = 0;
  bool holds = false;
  bool has_left = false;  // its token claims no further, but may leave again
};

/// Requests as they may come, most of them sensible, by chance.
class Requests {
 public:
  explicit Requests(std::uint64_t seed) : random_{seed} {
    const Mode reader{Mode::Kind::shared};
    const Mode names{Mode::Kind::permits, 3, {"gpu 0", "gpu 1", "gpu 2"}};
    const std::vector<std::vector<Mode>> families{
        {Mode{}},
        {Mode{}, reader},
        {reader, reader, Mode{}},
        {Mode{Mode::Kind::permits, 2}},
        {names},
        {Mode{}, reader, Mode{Mode::Kind::permits, 2}, Mode{Mode::Kind::permits, 3}, names}};
    modes_ = random_.pick(families);
    remembers_ = random_.chance(70);
    has_slots_ = remembers_ && random_.chance(50);
    has_supersede_ = random_.chance(40);
    for (int i = 0; i < 7; ++i) clients_.push_back({fresh(i)});
  }

  RuleRequest next() {
    which_ = random_.number(clients_.size());
    OneClient& one = clients_[which_];
    if (one.has_left && random_.chance(80)) one = {fresh(static_cast<int>(which_))};
    switch (random_.number(20)) {
      case 0: return rules::Cancel{one.claim};
      case 1:
        if (!one.has_left) return rules::Refresh{one.claim.token, ttl()};
        break;
      case 2: return Check{one.claim.token};
      case 3: return Inspect{};
      case 4: return rules::ForceRelease{some_tokens(), "root@db1", word(30)};
      case 5: return rules::AskToStop{some_tokens(), "cancelled by root@db1", "reply"};
      case 6: return rules::LastWordTo{"reply"};
      default: break;
    }
    if (one.has_left) return rules::Leave{one.claim.token, parting(one)};
    if (one.holds && random_.chance(60)) return rules::Leave{one.claim.token, parting(one)};
    if (one.holds && random_.chance(60)) return rules::Refresh{one.claim.token, ttl()};
    if (random_.chance(3)) return rules::Leave{one.claim.token, parting(one)};
    return enter(one);
  }

  /// The answer as the client sees it.
  void learn(const RuleRequest& request, const std::string& answer) {
    OneClient& one = clients_[which_];
    if (std::holds_alternative<rules::Leave>(request) ||
        std::holds_alternative<rules::Cancel>(request)) {
      one.has_left = true;
      return;
    }
    if (!std::holds_alternative<rules::Enter>(request)) return;
    if (random_.chance(5)) return;  // the answer was lost
    unsigned attempt = 0;
    unsigned failures = 0;
    if (answer.starts_with("granted ")) {
      one.holds = true;
      one.ticket.reset();
      one.fence = std::stoull(answer.substr(8));
      (void)std::sscanf(answer.c_str(), "granted %*u permit=%*u attempt=%u failures=%u", &attempt,
                        &failures);
      one.number = {attempt, failures};
    } else if (const auto at = answer.find(" ticket="); at != std::string::npos) {
      one.ticket = std::stoull(answer.substr(at + 8));
    } else {
      one = {fresh(static_cast<int>(which_))};
    }
  }

  /// µs until the next request.
  std::int64_t later() {
    switch (random_.number(40)) {
      case 0: return random_.between(0, 70'000'000);
      case 1: return random_.between(0, 90'000'000'000);  // a day is 86,400 s
      case 2: return random_.between(-20'000'000, 0);     // the clock is set back
      case 3:
      case 4:
      case 5: return random_.between(0, 14'000'000);
      case 6:
      case 7:
      case 8:
      case 9: return random_.between(0, 2'500'000);
      default: return random_.between(0, 150'000);
    }
  }

 private:
  Ttl ttl() {
    const auto length =
        random_.chance(50) ? random_.between(100, 3000) : random_.between(100, 30000);
    return *Ttl::from(Millis{length});
  }

  std::string word(unsigned percent) { return random_.chance(percent) ? "reply" : ""; }

  Claim fresh(int client) {
    Claim claim{
        lock_of_rules(),
        Token::foreign(fmt::format("app@web{}:{}/job#{:016x}", client, client + 1, random_.bits())),
        ttl(), random_.chance(85) ? OnBusy::queue : OnBusy::give_up};
    claim.mode = random_.pick(modes_);
    if (random_.chance(10)) claim.max_waiters = static_cast<unsigned>(random_.number(4));
    if (has_supersede_ && random_.chance(50)) {
      claim.supersede = "superseded by " + claim.token.text();
      claim.spare_holders = random_.chance(50);
    }
    if (!remembers_) return claim;
    if (random_.chance(90)) claim.history = Millis{random_.between(1, 40'000'000)};
    claim.waited = Millis{random_.between(0, 3)};
    if (claim.history == Millis{0}) return claim;
    if (random_.chance(40)) claim.reason = "deploy of web \\ 4";
    if (has_slots_ && random_.chance(80)) {
      claim.slot =
          *Slot::from(random_.pick(slots_of_rules()), static_cast<unsigned>(random_.number(3)));
    }
    return claim;
  }

  RuleRequest enter(OneClient& one) {
    rules::Enter request{one.claim, one.ticket};
    // Once it stands in the queue, who came after it is not sent away.
    if (one.ticket) request.claim.supersede.clear();
    if (random_.chance(15)) request.tried = Millis{random_.between(1, 4000)};
    if (one.holds) request.tried = Millis{random_.between(1, 400)};
    return request;
  }

  Parting parting(const OneClient& one) {
    using Kind = RunOutcome::Kind;
    Parting parting;
    parting.history = one.claim.history;
    if (random_.chance(20)) parting.min_hold = Millis{random_.between(1, 4000)};
    if (one.fence > 0 && random_.chance(20)) {
      // A quorum's is as high as on that of its servers which gave the highest.
      const std::uint64_t higher = random_.chance(50) ? 0 : 1'000'000'000;
      parting.fence = one.fence + random_.number(3) + higher;
    }
    if (random_.chance(90)) {
      const std::vector<RunEnd> ends{{{Kind::exited}, {}},
                                     {{Kind::exited, 3}, {}},
                                     {{Kind::signalled, 9}, {}},
                                     {{Kind::cancelled}, "cancelled by root@db1 \\ x"},
                                     {{Kind::released}, {}}};
      parting.end = random_.pick(ends);
    }
    if (!one.claim.slot || one.number.attempt == 0) return parting;  // nobody ends a run without it
    using End = Parting::SlotEnd;
    const std::vector<End> slot_ends{End::done, End::failed, End::failed, End::open};
    // The servers of a quorum count differently, and so does one that lost its data meanwhile.
    const auto elsewhere = random_.chance(30) ? random_.number(3) : 0;
    parting.slot = {*one.claim.slot, one.number.attempt + static_cast<unsigned>(elsewhere),
                    one.number.failures, random_.pick(slot_ends)};
    return parting;
  }

  std::vector<Token> some_tokens() {
    std::vector<Token> tokens;
    for (const OneClient& each : clients_) {
      if (random_.chance(25)) tokens.push_back(each.claim.token);
    }
    if (tokens.empty()) tokens.push_back(random_.pick(clients_).claim.token);
    return tokens;
  }

  Random random_;
  std::vector<Mode> modes_;
  bool remembers_ = false;
  bool has_slots_ = false;
  bool has_supersede_ = false;
  std::vector<OneClient> clients_;
  std::size_t which_ = 0;
};

/// One sequence of requests.
class Sequence {
 public:
  Sequence(std::shared_ptr<ScriptEngine> engine, std::uint64_t seed)
      : lua_{std::move(engine)}, requests_{seed}, history_{fmt::format("seed {}:\n", seed)} {}

  /// Says where the two differ.
  std::optional<std::string> run(std::size_t steps) {
    for (std::size_t i = 0; i < steps; ++i) {
      auto later = requests_.later();
      if (later < 0 && now_us_ < latest_us_) later = 0;
      if (later < 0) {
        if (auto what = look()) return what;
      }
      pass(later);
      const RuleRequest request = requests_.next();
      auto what = play(request);
      if (cpp_.has_twin_tickets()) return std::nullopt;
      if (what) return what;
      requests_.learn(request, answer_);
    }
    return std::nullopt;
  }
  [[nodiscard]] const std::string& history() const { return history_; }

 private:
  /// Drops what has ended.
  std::optional<std::string> look() {
    return play(rules::ForceRelease{{Token::foreign("nobody")}, "root@db1", ""});
  }

  void pass(std::int64_t us) {
    latest_us_ = std::max(latest_us_, now_us_);
    now_us_ += static_cast<std::uint64_t>(us);
    const auto ends = lua_.ends(now_us_);
    while (std::count(ends.begin(), ends.end(), static_cast<std::int64_t>(now_us_ / 1000)) > 0) {
      now_us_ += 1000;
    }
  }

  std::optional<std::string> play(const RuleRequest& request) {
    history_ += fmt::format("at {}: {}\n", now_us_, told(request));
    Seen of_lua;
    try {
      of_lua = lua_.play(request, now_us_);
    } catch (const std::exception& error) {
      of_lua.answer = error.what();
    }
    const Seen of_cpp = cpp_.play(request, now_us_);
    answer_ = of_cpp.answer;
    history_ += fmt::format("  {}\n", answer_);
    if (of_lua == of_cpp) return std::nullopt;
    const auto shown = [](const char* side, const Seen& seen) {
      return fmt::format("-- {}\n{}\n{}{}", side, seen.answer, seen.posts, seen.state);
    };
    return history_ + shown("Lua", of_lua) + shown("C++", of_cpp);
  }

  LuaSide lua_;
  RulesSide cpp_;
  Requests requests_;
  std::uint64_t now_us_ = 1'795'000'000'000'000;
  std::uint64_t latest_us_ = 0;
  std::string history_;
  std::string answer_;
};

/// A mistake that is planted in the scripts: the two have to differ.
struct Plant {
  const char* name;
  const char* from;
  const char* to;
};
constexpr Plant plants[] = {
    {"fence-not-higher", "math.max(last_fence + 1, wish)", "math.max(last_fence, wish)"},
    {"second-witness-untold", "post(token_of(second), 'next')", ""},
    {"last-witness-untold", "if last ~= second then post(token_of(last), 'next') end", ""},
    {"no-witness-after-a-witness", "tell_witnesses(heads[2])\n  end\nend", "end\nend"},
    {"no-witness-after-a-done-one", "replace_witness(rank, confirm_within)\n  end\n  if rank then",
     "end\n  if rank then"},
    {"number-of-another-run", "if again and slot and rest ~= token then", "if false then"},
    {"handoff-to-nobody", "if first and post(token_of(first), 'wake') then", "if false then"},
    {"patience-a-ms-longer", "redis.call('ZADD', alive, now + patience, id)",
     "redis.call('ZADD', alive, now + patience + 1, id)"},
    {"reader-stays-after-its-release", "  rank = redis.call('ZRANK', queue, 'shared ' .. token)\n",
     ""},
    {"release-from-the-queue-untold", "  if rank then leave_queue() end\n  return found",
     "  return found"},
    {"queue-jumper", "if not first or first == id then return true end",
     "if not first or first == id or tried > 0 then return true end"},
    {"sent-away-may-enter", "is_my_turn(ticket) and not was_sent_away(ticket)",
     "is_my_turn(ticket)"},
    {"sent-away-has-a-position", "  if not place and was_sent_away(ticket) then",
     "  if false then"},
    {"one-permit-more", "return not permits or redis.call('ZCARD', held) < permits",
     "return not permits or redis.call('ZCARD', held) <= permits"},
    {"highest-permit", "if score and (tonumber(score) - PERMIT_BASE) / 2 == middle then low",
     "if score then low"},
    {"min-hold-from-the-end", "math.ceil(min_hold - math.max(0, now_us - granted) / 1000)",
     "min_hold"},
    {"late-try-spares-nobody", "local newest = tried > 0 and now_us - tried * 1000 or math.huge",
     "local newest = math.huge"},
    {"lookers-untold", "if stays > 0 or sooner then tell_lookers(1) end", ""},
    {"roll-call-of-the-first-only", "redis.call('ZRANGE', queue, 1, 63)",
     "redis.call('ZRANGE', queue, 1, 2)"},
    {"crowd-of-one-more", "waiting >= (tonumber(arg.max_waiters) or math.huge)",
     "waiting > (tonumber(arg.max_waiters) or math.huge)"},
    {"retry-too-many", "failed and failures < retries", "failed and failures <= retries"},
    {"slot-of-a-run-that-goes-on-overwritten", "and rest == last_token and", "and false and"},
    {"slot-of-a-later-run-overwritten", "if number > attempt then return end", ""},
    {"slot-of-an-earlier-run-kept", "and last_fence > tonumber(numbered or 0) then", "then"},
    {"slot-not-done-by-a-late-end", "if not ours and not ends_slot then", "if not ours then"},
    {"slot-not-done-by-a-late-last-failure", "or failed and failed_before >= retries", ""},
    {"slot-open-forever", "for _, id in ipairs(redis.call('ZRANGE', queue, 0, TOLD_AT_ONCE - 1))",
     "for _, id in ipairs({})"},
    {"run-of-unheard-grant-stays", "if tried > 0 then end_run(token, nil, {}) end", ""},
    {"typical-is-the-mean-of-all", "if how == 'exited' or how == 'released' then", "if how then"},
    {"readers-refuse-writers", "return some == 'exclusive' and 'shared' or some", "return some"},
    {"force-release-of-others", "elseif owner and token_of(owner) == shown then",
     "elseif owner then"},
    {"looks-too-late", "look_in = room_in + rank * STAGGER_MS",
     "look_in = room_in + rank * STAGGER_MS * 2"},
};

std::uint64_t number_in(const char* text) {
  const std::string_view word{text};
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size()) {
    throw std::runtime_error{fmt::format("no number: {}", word)};
  }
  return number;
}

/// Whether each planted mistake is found, and by which sequence.
bool find_plants(std::uint64_t seed, std::uint64_t seeds, std::size_t steps) {
  bool all = true;
  for (const Plant& plant : plants) {
    const auto engine = std::make_shared<ScriptEngine>();
    engine->rewrite(plant.from, plant.to);
    std::uint64_t tried = 0;
    while (tried < seeds && !Sequence{engine, seed + tried}.run(steps)) ++tried;
    const bool found = tried < seeds && engine->rewritten() > 0;
    all = all && found;
    fmt::print("{}: {}\n", plant.name,
               found ? fmt::format("found by seed {}", seed + tried) : "NOT FOUND");
  }
  fmt::print("{} planted mistakes\n", std::size(plants));
  return all;
}

int compare(int count, char** words) {
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1000;
  std::uint64_t steps = 60;
  bool tells = false;
  bool mutants = false;
  for (int i = 1; i < count; ++i) {
    const std::string_view name = words[i];
    if (name == "--tell") {
      tells = true;
    } else if (name == "--mutants") {
      mutants = true;
    } else if (i + 1 < count && name == "--seed") {
      seed = number_in(words[++i]);
    } else if (i + 1 < count && name == "--seeds") {
      seeds = number_in(words[++i]);
    } else if (i + 1 < count && name == "--steps") {
      steps = number_in(words[++i]);
    } else {
      fmt::print(stderr,
                 "usage: compare-rules [--seed N] [--seeds N] [--steps N] [--tell | --mutants]\n");
      return 64;
    }
  }
  if (mutants) return find_plants(seed, seeds, steps) ? 0 : 1;
  const auto engine = std::make_shared<ScriptEngine>();
  for (std::uint64_t i = 0; i < seeds; ++i) {
    Sequence sequence{engine, seed + i};
    if (const auto what = sequence.run(steps)) {
      fmt::print("{}\n", *what);
      return 1;
    }
    if (tells) fmt::print("{}", sequence.history());
  }
  fmt::print("{} sequences of {} requests: no difference\n", seeds, steps);
  return 0;
}

}  // namespace
}  // namespace sim

int main(int count, char** words) {
  try {
    return sim::compare(count, words);
  } catch (const std::exception& error) {
    fmt::print(stderr, "compare-rules: {}\n", error.what());
    return 70;
  }
}
