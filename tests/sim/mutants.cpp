#include "mutants.hpp"

#include "os/poll.hpp"
#include "store/redis/redis.hpp"

namespace sim {
namespace {

using base::Deadline;
using base::Millis;
using namespace store;

/// A store that does what another does; the mistakes are made below. It is a node if the other is
/// one.
class Passing : public QuorumNode {
 public:
  explicit Passing(std::unique_ptr<LockStore> inner) : inner_{std::move(inner)} {}
  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    return inner_->try_acquire(claim, limit);
  }
  Turn await_turn(const Claim& claim, const CallLimit& limit) override {
    return inner_->await_turn(claim, limit);
  }
  void withdraw(const Claim& claim, const CallLimit& limit) override {
    inner_->withdraw(claim, limit);
  }
  Renewal renew(const LockName& name, const Token& token, Ttl ttl,
                const CallLimit& limit) override {
    return inner_->renew(name, token, ttl, limit);
  }
  Release release(const LockName& name, const Token& token, const Parting& parting,
                  const CallLimit& limit) override {
    return inner_->release(name, token, parting, limit);
  }
  Standing check(const LockName& name, const Token& token, const CallLimit& limit) override {
    return inner_->check(name, token, limit);
  }
  Renewal raise_fence(const Claim& claim, const Lease& lease, const CallLimit& limit) override {
    return dynamic_cast<QuorumNode&>(*inner_).raise_fence(claim, lease, limit);
  }
  std::unique_ptr<Listener> listener(const LockName& name, const Token& token) override {
    return inner_->listener(name, token);
  }
  void confirm_stopped(const LockName& name, const Notice& notice,
                       const CallLimit& limit) override {
    inner_->confirm_stopped(name, notice, limit);
  }

 protected:
  std::unique_ptr<LockStore> inner_;
};

struct NeverRefreshes final : Passing {
  using Passing::Passing;
  Renewal renew(const LockName&, const Token&, Ttl ttl, const CallLimit&) override {
    return Renewed{validity(base::now(), ttl), base::now()};
  }
};

struct CountsFromTheAnswer final : Passing {
  using Passing::Passing;
  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    auto attempt = inner_->try_acquire(claim, limit);
    if (auto* granted = std::get_if<Granted>(&attempt)) {
      granted->lease.valid_until = validity(base::now(), claim.ttl);
    }
    return attempt;
  }
  Renewal renew(const LockName& name, const Token& token, Ttl ttl,
                const CallLimit& limit) override {
    auto renewal = inner_->renew(name, token, ttl, limit);
    if (auto* renewed = std::get_if<Renewed>(&renewal)) {
      renewed->valid_until = validity(base::now(), ttl);
    }
    return renewal;
  }
};

struct RenewsUnheard final : Passing {
  using Passing::Passing;
  Renewal renew(const LockName& name, const Token& token, Ttl ttl,
                const CallLimit& limit) override {
    auto renewal = inner_->renew(name, token, ttl, limit);
    if (std::holds_alternative<Fault>(renewal)) {
      return Renewed{validity(base::now(), ttl), base::now()};
    }
    return renewal;
  }
};

struct NeverReleases final : Passing {
  using Passing::Passing;
  Release release(const LockName&, const Token&, const Parting&, const CallLimit&) override {
    return Released{};
  }
};

struct NeverWithdraws final : Passing {
  using Passing::Passing;
  void withdraw(const Claim&, const CallLimit&) override {}
};

struct SleepsTooLong final : Passing {
  using Passing::Passing;
  Turn await_turn(const Claim&, const CallLimit& limit) override {
    const auto until = Deadline::after(base::now(), Millis{12'000});
    os::wait_any({limit.interrupt}, std::min(until, limit.until));
    if (until.passed(base::now())) return ClaimAgain{};
    return StillWaiting{};
  }
};

struct Deaf final : Passing {
  using Passing::Passing;
  std::unique_ptr<Listener> listener(const LockName&, const Token&) override { return nullptr; }
};

/// Listens, and not again once its connection is gone.
struct ListensOnce final : Passing {
  using Passing::Passing;
  class Once final : public Listener {
   public:
    explicit Once(std::unique_ptr<Listener> inner) : inner_{std::move(inner)} {}
    [[nodiscard]] int descriptor() const override { return inner_->descriptor(); }
    std::optional<Notice> take() override { return inner_->take(); }
    [[nodiscard]] Deadline due() const override { return due_; }
    void listen(const CallLimit& limit) override {
      inner_->listen(limit);
      due_ = Deadline::after(base::now(), Millis{3'600'000});
    }

   private:
    std::unique_ptr<Listener> inner_;
    Deadline due_ = Deadline::at({});
  };
  std::unique_ptr<Listener> listener(const LockName& name, const Token& token) override {
    return std::make_unique<Once>(inner_->listener(name, token));
  }
};

struct ForgetsMinHold final : Passing {
  using Passing::Passing;
  Release release(const LockName& name, const Token& token, const Parting&,
                  const CallLimit& limit) override {
    return inner_->release(name, token, {}, limit);
  }
};

struct OneFence final : Passing {
  using Passing::Passing;
  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    auto attempt = inner_->try_acquire(claim, limit);
    if (auto* granted = std::get_if<Granted>(&attempt)) granted->lease.fence = 1;
    return attempt;
  }
};

struct HalfTheTime final : Passing {
  using Passing::Passing;
  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    Claim shorter = claim;
    shorter.ttl = *Ttl::from(claim.ttl.length() / 2);
    const auto asked_at = base::now();
    auto attempt = inner_->try_acquire(shorter, limit);
    if (auto* granted = std::get_if<Granted>(&attempt)) {
      granted->lease.ttl = claim.ttl;
      granted->lease.valid_until = validity(asked_at, claim.ttl);
    }
    return attempt;
  }
};

/// Takes a queue for a lock.
struct Impatient final : Passing {
  using Passing::Passing;
  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    const auto asked_at = base::now();
    auto attempt = inner_->try_acquire(claim, limit);
    const auto* queued = std::get_if<Queued>(&attempt);
    if (queued != nullptr && queued->ahead == 0 && queued->holder &&
        queued->holder->expires_in.value_or(Millis{1'000}) < Millis{300}) {
      return Granted{
          {claim.name, claim.token, claim.ttl, validity(asked_at, claim.ttl), 1, asked_at}};
    }
    return attempt;
  }
};

/// Each try with another token, and nothing is taken back.
struct ForgetsItsToken final : Passing {
  using Passing::Passing;
  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    Claim other = claim;
    other.token = claim.token.another();
    return inner_->try_acquire(other, limit);
  }
};

/// Does not know that it has asked before.
struct ForgetsItsTry final : Passing {
  using Passing::Passing;
  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    const RedisServer server{RedisServer::Nodes{RedisServer::Unix{"/sim/0"}}, {}};
    inner_ = redis::open_store(server);
    return inner_->try_acquire(claim, limit);
  }
};

/// A server of a quorum that says yes to everybody.
struct YesMan final : Passing {
  using Passing::Passing;
  Attempt try_acquire(const Claim& claim, const CallLimit&) override {
    const auto now = base::now();
    const auto fence = static_cast<Fence>(now.time_since_epoch().count());
    return Granted{{claim.name, claim.token, claim.ttl, validity(now, claim.ttl), fence, now}};
  }
  Renewal raise_fence(const Claim&, const Lease& lease, const CallLimit&) override {
    return Renewed{lease.valid_until, lease.asked_at};
  }
};

struct LowFences final : Passing {
  using Passing::Passing;
  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    auto attempt = inner_->try_acquire(claim, limit);
    if (auto* granted = std::get_if<Granted>(&attempt)) granted->lease.fence %= 1000;
    return attempt;
  }
};

/// A cancelled run leaves its slot open.
struct CancelLeavesOpen final : Passing {
  using Passing::Passing;
  Release release(const LockName& name, const Token& token, const Parting& parting,
                  const CallLimit& limit) override {
    Parting other = parting;
    const bool cancelled = parting.end && parting.end->outcome.kind == RunOutcome::Kind::cancelled;
    if (parting.slot && cancelled) other.slot->end = Parting::SlotEnd::open;
    return inner_->release(name, token, other, limit);
  }
};

/// A run that was told to end has done its slot.
struct AnyEndIsOne final : Passing {
  using Passing::Passing;
  Release release(const LockName& name, const Token& token, const Parting& parting,
                  const CallLimit& limit) override {
    Parting other = parting;
    if (parting.slot) other.slot->end = Parting::SlotEnd::done;
    return inner_->release(name, token, other, limit);
  }
};

/// The slot of a run does not end with it.
struct ForgetsTheSlot final : Passing {
  using Passing::Passing;
  Release release(const LockName& name, const Token& token, const Parting& parting,
                  const CallLimit& limit) override {
    Parting other = parting;
    other.slot.reset();
    return inner_->release(name, token, other, limit);
  }
};

/// A minority's grants stay as long as their leases.
struct KeepsAMinority final : Passing {
  using Passing::Passing;
  Release release(const LockName& name, const Token& token, const Parting& parting,
                  const CallLimit& limit) override {
    if (!parting.end) return Released{};
    return inner_->release(name, token, parting, limit);
  }
};

/// The last who came is the first.
struct LastComeFirst final : Passing {
  using Passing::Passing;
  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    Claim other = claim;
    if (!other.bid) return inner_->try_acquire(claim, limit);
    if (auto& ticket = other.bid->ticket) {
      ticket = {Bid::Ticket::From::node, 4'000'000'000'000'000 - ticket->number};
    }
    return inner_->try_acquire(other, limit);
  }
};

/// Asks again and again.
struct Polls final : Passing {
  using Passing::Passing;
  Turn await_turn(const Claim&, const CallLimit& limit) override {
    const auto until = Deadline::after(base::now(), Millis{100});
    os::wait_any({limit.interrupt}, std::min(until, limit.until));
    if (until.passed(base::now())) return ClaimAgain{};
    return StillWaiting{};
  }
};

/// A wait that was cut is one that ended.
struct ForgetsTheCut final : Passing {
  using Passing::Passing;
  Turn await_turn(const Claim& claim, const CallLimit& limit) override {
    auto turn = inner_->await_turn(claim, limit);
    if (std::holds_alternative<ClaimAgain>(turn)) return ClaimAgain{};
    return turn;
  }
};

template <class Mistake>
Sabotage in_store() {
  Sabotage sabotage;
  sabotage.store = [](std::unique_ptr<LockStore> inner) -> std::unique_ptr<LockStore> {
    return std::make_unique<Mistake>(std::move(inner));
  };
  return sabotage;
}

template <class Mistake>
Sabotage in_nodes(std::size_t from) {
  Sabotage sabotage;
  sabotage.node = [from](std::unique_ptr<QuorumNode> inner,
                         std::size_t number) -> std::unique_ptr<QuorumNode> {
    if (number < from) return inner;
    return std::make_unique<Mistake>(std::move(inner));
  };
  return sabotage;
}

Sabotage on_records(bool BadRecords::*mistake) {
  Sabotage sabotage;
  sabotage.records.*mistake = true;
  return sabotage;
}

Sabotage with(bool Sabotage::*mistake) {
  Sabotage sabotage;
  sabotage.*mistake = true;
  return sabotage;
}

}  // namespace

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all{
      // The scripts.
      {"a release does not end the run", "", "end_run(token, arg.run_end",
       "end_run('', arg.run_end"},
      {"a claim that is taken back stays remembered", "several",
       "redis.pcall('LREM', runs, 1, line)", "local _ = line"},
      {"the memory of runs has no end", "",
       "if add_run(line) then redis.call('PEXPIRE', runs, history + ttl) end",
       "if add_run(line) then redis.call('PERSIST', runs) end"},
      {"a grant is not remembered", "", "begin_run(token, number, arg, ",
       "begin_run(token, number, arg, 0 * "},
      {"what is taken away by force is not ended", "force-release",
       "    drop(owner)\n    end_run(shown, told, {})\n", "    drop(owner)\n"},
      {"a fence is the server's time", "", "math.max(last_fence + 1, wish)", "wish"},
      {"a fence only counts, and forgets with the server's data", "",
       "math.max(last_fence + 1, wish)", "last_fence + 1"},
      {"a reservation is confirmed with the fence of the holder before", "",
       "local number, permit = math.max(last_fence + 1, wish), nil",
       "local number, permit = owner == id and last_fence or math.max(last_fence + 1, wish), nil"},
      {"a release does not look whose the lock is", "", "local holds = owner == id or number",
       "local holds = owner or number"},
      {"a hand-off reserves nothing", "",
       "local set = redis.pcall('SET', lock, first, 'PX', confirm_within)",
       "local set = redis.call('DEL', lock) and {}"},
      {"who comes takes a free lock before those in the queue", "",
       "if not first or first == id then return true end", "do return true end"},
      {"the first waiter is not woken", "", "if first and post(token_of(first), 'wake') then",
       "if first then"},
      {"a released lock is not given on", "",
       "if not mode and stays <= 0 then handoff(confirm_within) else",
       "if false then handoff(confirm_within) else"},
      {"a lease is not extended", "",
       "elseif has_it_alone(token) then\n  left = redis.call('PTTL', lock)\n  "
       "redis.call('PEXPIRE', "
       "lock, "
       "ttl)",
       "elseif has_it_alone(token) then\n  left = redis.call('PTTL', lock)"},
      {"anybody's lease is extended", "", "elseif has_it_alone(token) then\n",
       "elseif owner then\n"},
      {"a reader's lease is not extended", "shared",
       "redis.call('ZADD', held, now + ttl, token)\n  settle()\nelseif", "settle()\nelseif"},
      {"the marker of several ends with the first lease", "shared",
       "redis.call('ZRANGE', held, -1, -1, 'WITHSCORES')[2]",
       "redis.call('ZRANGE', held, 0, 0, 'WITHSCORES')[2]"},
      {"one permit too many", "permits", "redis.call('ZCARD', held) < permits",
       "redis.call('ZCARD', held) <= permits"},
      {"a number of a permit is given twice", "permits", "permit = free_permit()", "permit = 1"},
      {"dead waiters stay", "crowd", "redis.call('ZRANGEBYSCORE', alive, '-inf', now,",
       "redis.call('ZRANGEBYSCORE', alive, '-inf', 0,"},
      {"ended permits stay", "permits", "redis.call('ZRANGEBYSCORE', held, '-inf', now,",
       "redis.call('ZRANGEBYSCORE', held, '-inf', 0,"},
      {"a reservation has no end", "", "redis.pcall('SET', lock, first, 'PX', confirm_within)",
       "redis.pcall('SET', lock, first)"},
      {"nobody looks after a reservation (fault 14)", "crowd",
       "if last ~= second then post(token_of(last), 'next') end",
       "post = function() return true end"},
      {"no roll call (fault 14)", "crowd",
       "for rank, id in ipairs(redis.call('ZRANGE', queue, 1, 63)) do",
       "for rank, id in ipairs({}) do"},
      {"the second waits for the first alone (fault 13)", "crowd",
       "elseif rank <= LOOKING_BEHIND and room_in then", "elseif false then"},
      {"the third waits for a sign of life only", "", "local LOOKING_BEHIND = 9",
       "local LOOKING_BEHIND = 1"},
      {"those behind are not told of a shorter lease", "min-hold",
       "if stays > 0 or sooner then tell_lookers(1) end", ""},
      {"those behind are not told that the last of the readers' leases is gone", "dead-readers",
       "  return sooner\n", "  return false\n"},
      {"nobody looks whether a permit was taken", "permits",
       "ahead and mode and mode == mode_of(ahead) and has_room()", "false"},
      {"a retry of --supersede spares nobody (fault 12)", "supersede",
       "local newest = tried > 0 and now_us - tried * 1000 or math.huge",
       "local newest = math.huge"},
      {"a grant that was not heard is not found", "", "if owner == id and last_token == token and",
       "if false and"},
      {"a waiter's sign of life is short", "", "redis.call('ZADD', alive, now + patience, id)",
       "redis.call('ZADD', alive, now + 1000, id)"},
      {"who leaves stays in the queue", "", "if rank then drop(id) end", ""},
      {"a queue has no end", "", "redis.call('PEXPIRE', queue, 2 * patience)", ""},
      {"a fence has no end", "", "token, 'PX', DAY_MS + ttl)\n  local was_told",
       "token)\n  local was_told"},
      {"--min-hold is forgotten", "min-hold", "local stays = rank and 0 or math.ceil(",
       "local stays = rank and 0 or -math.ceil("},
      {"nobody tells the first waiter", "shared", "local function tell_first(confirm_within)",
       "local function tell_first(confirm_within)\n  do return end"},
      {"a word to stop is not posted", "cancel", "(holds or waits(token)) and post(token, 'stop '",
       "(holds or waits(token)) and (function() return true end)(token, 'stop '"},
      {"a reservation cannot be taken", "", "if owner == id or room", "if room"},
      {"who has it stays in the queue", "", "  if first then\n    drop(id)", "  if first then"},
      {"--max-waiters lets one more in", "max-waiters", "waiting >= (tonumber(arg.max_waiters)",
       "waiting > (tonumber(arg.max_waiters)"},
      {"a writer goes with readers", "shared",
       "local room = not owner or want == mode and has_room()", "local room = not owner or mode"},
      {"a foreign lock is taken for none", "foreign", "local room = not owner or want == mode",
       "local room = not owner or owner == 'foreign' or want == mode"},
      {"cancel finds no holder", "cancel", "local holds = mode and tonumber(redis.call",
       "local holds = false and tonumber(redis.call"},
      {"force-release finds no holder", "force-release",
       "elseif owner and token_of(owner) == shown then", "elseif false then"},
      {"force-release takes it from whoever has it", "force-release",
       "elseif owner and token_of(owner) == shown then", "elseif owner then"},
      {"who loses it to force-release is not told", "force-release", "post(token, 'lost ' .. reply",
       "(function() end)(token, 'lost ' .. reply"},
      {"a last word is not posted", "cancel", "return post(ARGV[2], ARGV[3]) and 1 or 0",
       "return 1"},
      {"--supersede stops no holder", "supersede",
       "for _, holder in ipairs(arg.spare_holders and {} or holders()) do",
       "for _, holder in ipairs({}) do"},
      {"--supersede sends nobody away who waits", "supersede", "for i = 1, #waiting, 2 do",
       "for i = 1, 0, 2 do"},
      {"--min-hold keeps it for too long", "min-hold", "redis.call('PEXPIRE', lock, stays)",
       "redis.call('PEXPIRE', lock, stays + 20000)"},
      {"--min-hold counts from the end", "min-hold", "- math.max(0, now_us - granted) / 1000",
       "- 0"},
      {"--min-hold is nothing to a reader", "min-hold",
       "local stays = rank and 0 or math.ceil(min_hold",
       "local stays = (rank or number) and 0 or math.ceil(min_hold"},
      {"nobody is told when the first one leaves", "shared",
       "  if rank < 2 then tell_first(confirm_within) end\n", ""},
      {"a first reader that does not come is waited for", "shared",
       "local not_come = ahead and mode and",
       "local not_come = ahead and mode and mode ~= 'shared' and"},
      {"those behind are not told of a shorter refresh", "steps",
       "if ttl < left then tell_lookers(0) end", ""},
      {"readers and permits go together", "modes", "if not others or go_together(others",
       "if true or go_together(others"},
      {"writers are told that they do not go with readers", "shared",
       "some == 'exclusive' and 'shared' or some", "some"},
      {"a slot is looked at before the queue, not for a reservation", "slot",
       "if state ~= 'done' then return end\n  local rank",
       "if state ~= 'done' or owner == id then return end\n  local rank"},
      {"a slot is looked at for a reservation only", "slot",
       "if state ~= 'done' then return end\n  local rank",
       "if state ~= 'done' or owner ~= id then return end\n  local rank"},
      {"a release does not say that the slot is done", "slot", "if slot and arg.slot_end then",
       "if false then"},
      {"those who wait are not told that the slot is done", "slot",
       "ipairs(redis.call('ZRANGE', queue, 0, TOLD_AT_ONCE - 1))", "ipairs({})"},
      {"who is told that the slot is done stays in the queue", "slot",
       "    drop(id)\n    redis.call('DEL', mailbox .. token)\n  end\n  if owner == id",
       "    redis.call('DEL', mailbox .. token)\n  end\n  if owner == id"},
      {"the turn does not go on behind one whose slot is done", "slot",
       "  if owner == id then\n    handoff(confirm_within)\n  elseif not owner",
       "  if true then\n  elseif not owner"},
      {"a run that was lost has done its slot", "slot",
       "local state, attempt, failures, rest = slot_state()\n",
       "local state, attempt, failures, rest = slot_state()\n"
       "if state == 'running' and owner ~= rest then\n"
       "  state, rest = 'done', 'exited 0\\t' .. digits(now) .. '\\t1\\t' .. rest\n"
       "end\n"},
      {"the runs for a slot are not counted", "slot-retry", "attempt = attempt + 1 end",
       "attempt = math.max(attempt, 1) end"},
      {"one run more than --retry says", "slot-retry", "failures < retries then",
       "failures <= retries then"},
      {"one run less than --retry says", "slot-retry", "failures < retries then",
       "failures + 1 < retries then"},
      {"a server of a quorum is not told which run it is", "quorum-slot-retry",
       "if slot and not is_over then\n  with_run", "if false then\n  with_run"},
      {"a release that is heard again ends another run", "quorum-slot-unheard",
       "set_slot('open', number - 1, failures, before, history)",
       "set_slot('open', number - 1, failures, '', history)"},
      {"a reservation for a waiter that gave back a grant is taken for that grant",
       "quorum-slot-unheard", " and not redis.call('ZRANK', queue, id) then", " then"},
      {"the end of a run is that of a later one", "quorum-slot-unheard",
       "if number > attempt then return end", ""},
      {"the end of a lost run is that of the slot's next run", "slot-retry",
       "and rest == last_token and", "and false and"},
      {"an earlier run whose end was not heard stays in the slot", "quorum-slot-unheard",
       "and last_fence > tonumber(numbered or 0) then", "then"},
      {"a late end does not do the slot of which a later run is known", "slot-retry",
       "if not ours and not ends_slot then", "if not ours then"},
      // The program.
      {"leases are not refreshed", "", "", "", in_store<NeverRefreshes>()},
      {"leases count from the answer", "", "", "", in_store<CountsFromTheAnswer>()},
      {"a refresh that fails is one", "", "", "", in_store<RenewsUnheard>()},
      {"locks are not released", "", "", "", in_store<NeverReleases>()},
      {"nothing is withdrawn", "", "", "", in_store<NeverWithdraws>()},
      {"a waiter hears nothing", "", "", "", in_store<SleepsTooLong>()},
      {"a holder hears nothing", "cancel", "", "", in_store<Deaf>()},
      {"all fences are one", "", "", "", in_store<OneFence>()},
      {"half of the lease is asked for", "", "", "", in_store<HalfTheTime>()},
      {"the first waiter takes the lock a little early", "", "", "", in_store<Impatient>()},
      {"each try has another token", "exclusive", "", "", in_store<ForgetsItsToken>()},
      {"a retry of --supersede does not say so (fault 12)", "supersede", "", "",
       in_store<ForgetsItsTry>()},
      {"a server of a quorum says yes to everybody", "quorum", "", "", in_nodes<YesMan>(2)},
      {"a server gives the fence that a client wants", "quorum", "math.max(last_fence + 1, wish)",
       "tonumber(arg.fence or 0) > 0 and tonumber(arg.fence) or wish"},
      {"the servers of a quorum release nothing", "quorum", "", "", in_nodes<NeverReleases>(0)},
      {"the servers of a quorum give low fences", "quorum", "", "", in_nodes<LowFences>(0)},
      {"a quorum is asked too seldom", "quorum", "", "", in_store<SleepsTooLong>()},
      {"who waits on a quorum hears no wake", "quorum", "", "", in_nodes<SleepsTooLong>(0)},
      {"who waits on a quorum polls", "quorum", "", "", in_store<Polls>()},
      {"a minority of a quorum is not given back", "quorum-crowd", "", "",
       in_nodes<KeepsAMinority>(0)},
      {"the last who came to a quorum is the first", "quorum", "", "", in_nodes<LastComeFirst>(0)},
      {"a server of a quorum forgets --min-hold", "quorum-min-hold", "", "",
       in_nodes<ForgetsMinHold>(1)},
      {"a writer goes with readers on a quorum", "quorum-shared",
       "local room = not owner or want == mode and has_room()", "local room = not owner or mode"},
      {"the servers of a quorum do not take over a reader's fence", "quorum-shared",
       "local is_reader = mode == 'shared' and", "local is_reader = false and"},
      {"the servers of a quorum only say that they take over a reader's fence", "quorum-shared",
       "  redis.call('ZADD', grants, digits(number), token)\n  if last_fence > number then return "
       "1 "
       "end\n",
       "  do return 1 end\n"},
      {"a reader that releases a quorum stays in a queue", "quorum-shared-crowd",
       "  rank = redis.call('ZRANK', queue, 'shared ' .. token)\n", ""},
      {"a server of a quorum says yes to every reader and writer", "quorum-shared", "", "",
       in_nodes<YesMan>(2)},
      {"a minority of readers is not given back", "quorum-shared-crowd", "", "",
       in_nodes<KeepsAMinority>(0)},
      {"a cancelled run leaves its slot open", "slot-cancel", "", "", in_store<CancelLeavesOpen>()},
      {"a run that was told to end has done its slot", "slot", "", "", in_store<AnyEndIsOne>()},
      {"two servers of a quorum do not hear that a slot is done", "quorum-slot", "", "",
       in_nodes<ForgetsTheSlot>(1)},
      {"a holder on a quorum hears nothing", "quorum-cancel", "", "", in_store<Deaf>()},
      {"a foreign lock is looked at too seldom", "foreign", "", "", in_store<SleepsTooLong>()},
      {"a wait that was cut is followed by a claim at once", "cut-waits", "", "",
       in_store<ForgetsTheCut>()},
      {"who listens does not connect again", "cancel", "", "", in_store<ListensOnce>()},
      {"a job is never killed", "", "", "", with(&Sabotage::nobody_kills)},
      {"there is no guardian", "", "", "", with(&Sabotage::no_guardian)},
      {"the policy does not hear of a word to stop", "cancel", "", "",
       with(&Sabotage::deaf_policy)},
      {"the lock is released before the job ends", "", "", "", with(&Sabotage::releases_before)},
      {"all tokens have the same digits", "", "", "", with(&Sabotage::same_random)},
      {"on records a lease counts from the answer", "records", "", "",
       in_store<CountsFromTheAnswer>()},
      {"on records a refresh that was not heard counts", "records", "", "",
       in_store<RenewsUnheard>()},
      {"on records nobody refreshes", "records", "", "", in_store<NeverRefreshes>()},
      {"a record is swapped whatever its version", "records", "", "",
       on_records(&BadRecords::swaps_blindly)},
      {"a record comes with a time that has gone by", "records", "", "",
       on_records(&BadRecords::tells_old_time)},
      {"the words that a record sends are lost", "records", "", "",
       on_records(&BadRecords::loses_posts)},
      {"the policy takes leases for longer", "", "", "", with(&Sabotage::late_policy)},
  };
  return all;
}

}  // namespace sim
