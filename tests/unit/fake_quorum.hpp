// A quorum of servers that are made of memory.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "os/poll.hpp"
#include "store/quorum/quorum.hpp"
#include "store/rules/slot.hpp"

namespace fake_quorum {

using namespace store;

/// One server's record of one lock, and of one slot.
struct Server {
  enum class State { up, silent, refusing, denying } state = State::up;
  Millis delay{0};  // before it answers
  Fence clock = 100;
  bool agrees = false;  // its clock, with that of the client
  std::mutex mutex{};
  std::optional<Token> owner{};
  std::optional<Token> granted_to{};  // with the fence
  Mode mode{};                        // of the grant
  Fence fence = 0;
  rules::SlotState slot{};
  std::map<std::string, int> asked{};
  std::string loses{};  // it does what this question asks for, and its answer is lost

  void forget() {
    slot = {};
    owner.reset();
    granted_to.reset();
    fence = 0;
  }
};

/// A connection to it. Two may lead to the same server.
class Node final : public QuorumNode {
 public:
  explicit Node(Server& server) : server_{server} {}

  Attempt try_acquire(const Claim& claim, const CallLimit& limit) override {
    return answer<Attempt>("acquire", limit, [&]() -> Attempt {
      const auto asked_at = base::now();
      auto& slot = server_.slot;
      if (claim.slot && slot.is_done()) {
        return SlotDone{Token::foreign(slot.token), server_.fence, slot.runs.attempt, slot.outcome,
                        Millis{0}};
      }
      if (server_.owner && *server_.owner != claim.token) {
        return Busy{Holder{Holder::Kind::holder, server_.owner->text(), std::nullopt, std::nullopt},
                    0};
      }
      const bool again = server_.owner && server_.granted_to == claim.token;
      if (!again) {
        server_.fence = std::max({server_.fence + 1, server_.clock,
                                  server_.agrees && claim.bid ? claim.bid->fence.value_or(0) : 0});
      }
      server_.owner = server_.granted_to = claim.token;
      server_.mode = claim.mode;
      Lease lease{claim.name,    claim.token, claim.ttl, validity(asked_at, claim.ttl),
                  server_.fence, asked_at};
      if (claim.slot) {
        const auto number = rules::next_run(slot, claim.token.text());
        slot = rules::with_run(slot, claim.token.text(), number);
        lease.attempt = number.attempt;
        lease.failures = number.failures;
      }
      return Granted{std::move(lease), "", again};
    });
  }
  Turn await_turn(const Claim& /*claim*/, const CallLimit& /*limit*/) override {
    return ClaimAgain{};
  }
  void withdraw(const Claim& claim, const CallLimit& limit) override {
    (void)release(claim.name, claim.token, no_run(claim), limit);
  }
  Renewal renew(const LockName& /*name*/, const Token& token, Ttl ttl,
                const CallLimit& limit) override {
    return answer<Renewal>("renew", limit, [&]() -> Renewal {
      if (server_.owner != token) return NotOurs{"another's"};
      return Renewed{validity(base::now(), ttl), base::now()};
    });
  }
  Renewal raise_fence(const Claim& claim, const Lease& lease, const CallLimit& limit) override {
    return answer<Renewal>("raise", limit, [&]() -> Renewal {
      if (server_.owner != lease.token) return NotOurs{"another's"};
      auto& slot = server_.slot;
      if (claim.slot && !rules::is_over(slot, lease.token.text()))
        slot = rules::with_run(slot, lease.token.text(), rules::number_of(lease));
      if (server_.fence > lease.fence) return NotOurs{"later one"};
      server_.fence = lease.fence;
      return Renewed{lease.valid_until, base::now()};
    });
  }
  Release release(const LockName& /*name*/, const Token& token, const Parting& parting,
                  const CallLimit& limit) override {
    return answer<Release>("release", limit, [&]() -> Release {
      if (server_.owner != token) return NotOurs{"another's"};
      server_.owner.reset();
      if (parting.slot) end_slot(token, parting);
      return Released{};
    });
  }
  Standing check(const LockName& /*name*/, const Token& token, const CallLimit& limit) override {
    return answer<Standing>("check", limit, [&]() -> Standing {
      if (!server_.owner) return Elsewhere{};
      if (*server_.owner != token) {
        return Elsewhere{
            Holder{Holder::Kind::holder, server_.owner->text(), std::nullopt, std::nullopt}};
      }
      return StillOurs{Deadline::after(base::now(), Millis{1'000}), server_.fence, server_.mode};
    });
  }
  std::unique_ptr<Listener> listener(const LockName& /*name*/, const Token& /*token*/) override {
    return nullptr;
  }
  void confirm_stopped(const LockName& /*name*/, const Notice& /*notice*/,
                       const CallLimit& /*limit*/) override {
    const std::lock_guard guard{server_.mutex};
    ++server_.asked["confirm"];
  }

 private:
  void end_slot(const Token& token, const Parting& parting) {
    auto& slot = server_.slot;
    slot = parting.end ? rules::after_run(slot, rules::end_of_run(token, parting, server_.fence, 0))
                       : rules::without_run(slot, token.text());
  }
  template <class Answer, class Do>
  Answer answer(const char* question, const CallLimit& limit, const Do& act) {
    const auto arrives = Deadline::after(base::now(), server_.delay);
    os::wait_any({limit.interrupt}, std::min(limit.until, arrives));
    {
      const std::lock_guard guard{server_.mutex};
      ++server_.asked[question];
      switch (server_.state) {
        case Server::State::refusing: return Fault{Fault::Kind::unreachable, "refused"};
        case Server::State::denying: return Fault{Fault::Kind::denied, "no permission"};
        case Server::State::up:
          if (!arrives.passed(base::now())) break;
          if (server_.loses != question) return act();
          (void)act();
          break;
        case Server::State::silent: break;
      }
    }
    os::wait_any({limit.interrupt}, limit.until);
    return Fault{Fault::Kind::silent, "no answer in time"};
  }

  Server& server_;
};

/// As many servers as the state of each says, and a quorum of them.
class Fleet {
 public:
  explicit Fleet(std::size_t size) : servers(size) {}

  std::unique_ptr<LockStore> open() {
    std::vector<std::unique_ptr<QuorumNode>> nodes;
    for (auto& server : servers) nodes.push_back(std::make_unique<Node>(server));
    return quorum::open_store(std::move(nodes));
  }

  std::vector<Server> servers;
};

inline const LockName key = *LockName::from("key");
inline const Ttl ttl = *Ttl::from(Millis{10'000});

inline Claim claim_of(const char* label, OnBusy on_busy = OnBusy::give_up) {
  return {key, Token::mint(*Label::from(label)), ttl, on_busy};
}

inline CallLimit within(int ms) {
  return {Deadline::after(base::now(), Millis{ms})};
}

inline Millis since(Moment began) {
  return std::chrono::duration_cast<Millis>(base::now() - began);
}

inline std::optional<Lease> leased(Attempt attempt) {
  auto* granted = std::get_if<Granted>(&attempt);
  if (granted == nullptr) return std::nullopt;
  return granted->lease;
}

}  // namespace fake_quorum
