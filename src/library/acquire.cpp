#include "library/acquire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/duration.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "library/failure.hpp"
#include "library/stop.hpp"
#include "os/sigpipe.hpp"

namespace library {

using rlock::Failure;
using rlock::Millis;
using rlock::Options;

namespace {

constexpr std::size_t longest_reason = 200;
constexpr Millis longest_grace{5'000};

using Claims = base::Result<std::vector<store::Claim>, Failure>;

base::Result<store::Mode, Failure> mode_of(const rlock::Mode& mode) {
  store::Mode result;
  if (mode.kind != rlock::Mode::Kind::permits) {
    const bool is_shared = mode.kind == rlock::Mode::Kind::shared;
    if (!is_shared && mode.kind != rlock::Mode::Kind::exclusive) return mistaken("no such mode");
    if (mode.permits != 1 || !mode.names.empty()) {
      return mistaken("permits and their names are for Mode::one_permit_of() and Mode::one_of()");
    }
    if (is_shared) result.kind = store::Mode::Kind::shared;
    return result;
  }
  if (mode.permits < 1 || mode.permits > store::Mode::most_permits) {
    return mistaken(fmt::format("1 to {} permits", store::Mode::most_permits));
  }
  if (!mode.names.empty()) {
    auto names = store::permit_names_in(fmt::format("{}", fmt::join(mode.names, ",")));
    if (!names || names->size() != mode.names.size() || names->size() != mode.permits) {
      return mistaken(
          fmt::format("the names of permits: {}, none with a comma", store::accepted_permit_names));
    }
    return store::Mode{store::Mode::Kind::permits, mode.permits, *std::move(names)};
  }
  if (mode.permits == 1) return result;
  return store::Mode{store::Mode::Kind::permits, mode.permits};
}

base::Result<std::vector<store::LockName>, Failure> names_of(const std::vector<std::string>& keys) {
  std::vector<store::LockName> names;
  for (const auto& key : keys) {
    auto name = store::LockName::from(key);
    if (!name) {
      return mistaken(fmt::format("a key of 1 to {} bytes without NUL", store::LockName::longest));
    }
    names.push_back(*std::move(name));
  }
  if (names.empty()) return mistaken("at least one key");
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

store::Label label_of(const rlock::Server::Impl& server, const Options& options) {
  const auto& wanted = options.label.empty() ? server.options.label : options.label;
  if (wanted.empty()) return store::Label::tamed(::program_invocation_short_name);
  const auto label = store::Label::from(base::cut_to(wanted, store::Label::longest));
  return label ? *label : store::Label::tamed(wanted);
}

/// An ability that this kind of server lacks.
std::optional<Failure> refused(const store::ServerSpec& spec, const store::Mode& mode,
                               const Options& options) {
  using store::Feature;
  const auto lacks = [&](Feature feature) { return !store::can(spec, feature); };
  const auto failure = [](std::string_view what) {
    return mistaken(fmt::format("that kind of server has no {}", what));
  };
  using Kind = store::Mode::Kind;
  if (mode.kind == Kind::shared && lacks(Feature::shared)) return failure("shared locks");
  if (mode.kind == Kind::permits && lacks(Feature::permits)) return failure("permits");
  if (options.max_waiters && lacks(Feature::max_waiters)) return failure("max_waiters");
  if (options.min_hold > Millis{0} && lacks(Feature::min_hold)) return failure("min_hold");
  return std::nullopt;
}

Claims claims_for(rlock::Server::Impl& server, const std::vector<std::string>& keys,
                  const Options& options, bool waits, const std::optional<store::Slot>& slot) {
  auto names = names_of(keys);
  if (!names) return std::move(names).error();
  const auto ttl = store::Ttl::from(options.ttl);
  if (!ttl) {
    return mistaken(fmt::format("a ttl of {} to {}", base::format_duration(store::Ttl::shortest),
                                base::format_duration(store::Ttl::longest)));
  }
  auto mode = mode_of(options.mode);
  if (!mode) return std::move(mode).error();
  if (!mode->names.empty() && names->size() > 1) {
    return mistaken("the permits of one key have names, and there are several keys");
  }
  if (options.reason.size() > longest_reason) {
    return mistaken(fmt::format("a reason of up to {} bytes", longest_reason));
  }
  if (options.history < Millis{0} || options.history > store::Ttl::longest) {
    return mistaken("a history of 0 to " + base::format_duration(store::Ttl::longest));
  }
  if (options.min_hold < Millis{0} || options.min_hold > store::Ttl::longest) {
    return mistaken("a min_hold of 0 to " + base::format_duration(store::Ttl::longest));
  }
  if (options.grace < Millis{0} || options.grace > options.ttl / 2) {
    return mistaken("a grace of at most half the ttl");
  }
  if (slot && options.history == Millis{0}) {
    return mistaken("a history of 0: the server would forget the slot");
  }
  if (auto failure = refused(*server.spec, *mode, options)) return *std::move(failure);
  std::string reason = options.reason;
  std::replace_if(
      reason.begin(), reason.end(), [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }, ' ');
  const auto token = store::Token::mint(label_of(server, options));
  std::vector<store::Claim> claims;
  for (const auto& name : *names) {
    claims.push_back({name, token, *ttl, waits ? store::OnBusy::queue : store::OnBusy::give_up,
                      *mode, options.max_waiters});
    auto& claim = claims.back();
    claim.token_stays = names->size() > 1;
    claim.history = options.history;
    claim.slot = slot;
    claim.reason = reason;
  }
  return claims;
}

/// `first`: whose fence is the lock's.
Attempted locked(const std::shared_ptr<rlock::Server::Impl>& impl, hold::HeldLocks locks,
                 std::string_view first, const Options& options, Millis grace,
                 const std::optional<store::Slot>& slot) {
  store::Parting parting;
  parting.history = options.history;
  parting.min_hold = options.min_hold;
  auto leases = locks.leases();
  const auto own = std::find_if(leases.begin(), leases.end(),
                                [&](const auto& each) { return each.name.text() == first; });
  if (own != leases.end()) std::iter_swap(leases.begin(), own);
  // One permit is an exclusive lock to the server.
  const bool is_only_one =
      options.mode.kind == rlock::Mode::Kind::permits && options.mode.permits == 1;
  if (is_only_one && leases.front().permit == 0) leases.front().permit = 1;
  if (slot) {
    const auto& lease = leases.front();
    parting.slot = {*slot, lease.attempt, lease.failures, store::Parting::SlotEnd::open};
  }
  auto kept = std::make_shared<Kept>(std::move(locks), Kept::Terms{grace, options.on_lost});
  auto& keeper = impl->process().keeper;
  try {
    keeper.keep(kept);
  } catch (const std::system_error&) {
    keeper.take_out(*kept, store::Deadline::at({})).abandon();
    throw;
  }
  return rlock::Lock{std::make_unique<rlock::Lock::Impl>(impl, std::move(leases), std::move(kept),
                                                         std::move(parting))};
}

}  // namespace

Attempted attempt(const rlock::Server& server, const std::vector<std::string>& keys,
                  const Options& options, Millis wait, const std::optional<store::Slot>& slot) {
  const auto& own = server.impl();
  auto& impl = *own;
  if (!impl.mistake.empty()) return mistaken(impl.mistake);
  const os::NoSigpipe no_sigpipe;
  const base::log::ScopedSink scope{impl.log.get()};
  auto claims = claims_for(impl, keys, options, wait > Millis{0}, slot);
  if (!claims) return std::move(claims).error();
  const auto grace =
      options.grace > Millis{0} ? options.grace : std::min(longest_grace, options.ttl / 6);
  try {
    InterruptionByToken interruption{options.stop};
    auto acquisition = hold::acquire(
        [&] { return open_pooled(impl.process().pool); },
        {*std::move(claims), wait, grace, impl.options.answer_time, {}, false}, interruption);
    if (auto* locks = std::get_if<hold::HeldLocks>(&acquisition)) {
      return locked(own, std::move(*locks), keys.front(), options, grace, slot);
    }
    auto& reason = std::get<hold::NotAcquired>(acquisition);
    if (auto* done = std::get_if<hold::AlreadyDone>(&reason)) return std::move(done->done);
    return failure_of(reason, impl.shown);
  } catch (const std::system_error& error) {
    return Failure{rlock::Reason::exhausted, error.what()};
  }
}

}  // namespace library

namespace rlock {
inline namespace v0 {
namespace {

Acquired acquired(library::Attempted attempted) {
  if (auto* lock = std::get_if<Lock>(&attempted)) return std::move(*lock);
  return std::get<Failure>(std::move(attempted));
}

}  // namespace

Acquired try_acquire(const Server& server, const std::vector<std::string>& keys,
                     const Options& options) {
  return acquired(library::attempt(server, keys, options, Millis{0}));
}

Acquired acquire(const Server& server, const std::vector<std::string>& keys,
                 const Options& options) {
  return acquired(library::attempt(server, keys, options, options.wait));
}

Acquired try_acquire(const Server& server, std::string_view key, const Options& options) {
  return try_acquire(server, std::vector{std::string{key}}, options);
}

Acquired acquire(const Server& server, std::string_view key, const Options& options) {
  return acquire(server, std::vector{std::string{key}}, options);
}

}  // namespace v0
}  // namespace rlock
