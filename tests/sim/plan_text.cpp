// A plan as people read it.
#include <fmt/format.h>

#include <array>

#include "plan.hpp"

namespace sim {
namespace {

constexpr std::array names{"disturbance",
                           "server stopped",
                           "restart with its data",
                           "restart without its data",
                           "script cache flushed",
                           "out of memory",
                           "crash",
                           "paused",
                           "TERM",
                           "clock stepped",
                           "clock drifts",
                           "cancel",
                           "force-release",
                           "foreign SET NX PX"};
constexpr std::array disturbances{"commands cut", "answers cut", "slow", "parted", "waits cut"};

std::string shown(const Disturbance& it) {
  std::string who = it.process == 0 ? "all" : fmt::format("client {}", it.process);
  if (it.server >= 0) who += fmt::format(", server {}", it.server);
  return fmt::format("{} ({} %, up to {} ms; {})",
                     disturbances.at(static_cast<std::size_t>(it.kind)), it.percent, it.length / ms,
                     who);
}

}  // namespace

std::string shown(const Plan& plan) {
  std::string out =
      fmt::format("shape {}, seed {}, {} server(s)\n", plan.shape, plan.seed, plan.servers);
  for (const ClientPlan& client : plan.clients) {
    for (const Wish& wish : client.wishes) {
      out += fmt::format("  client {}: after {} ms wants", client.number, wish.after.count());
      for (const auto& key : wish.keys) out += " " + key;
      if (wish.mode.kind == store::Mode::Kind::shared) out += ", shared";
      if (wish.mode.kind == store::Mode::Kind::permits) {
        out += fmt::format(", one of {} permits", wish.mode.permits);
      }
      out += fmt::format(", ttl {} ms, work {} ms, dies in {} ms", wish.ttl.count(),
                         wish.work.count(), wish.dying.count());
      if (wish.wait) out += fmt::format(", waits {} ms", wish.wait->count());
      if (wish.max_waiters) out += fmt::format(", at most {} waiters", *wish.max_waiters);
      if (wish.supersedes) out += ", supersedes";
      if (wish.in_steps) out += ", in steps";
      if (wish.slot) {
        out += fmt::format(", for the slot {}, {} may fail, exits with {}", wish.slot->id,
                           wish.slot->retries, wish.code);
      }
      if (wish.max_hold) out += fmt::format(", at most {} ms", wish.max_hold->count());
      if (wish.min_hold.count() > 0) out += fmt::format(", at least {} ms", wish.min_hold.count());
      out += '\n';
    }
  }
  for (const Incident& each : plan.incidents) {
    out += fmt::format("  {:.3f} s: ", static_cast<double>(each.at) / 1e9);
    if (each.disturbance) {
      out += shown(*each.disturbance);
    } else {
      out += fmt::format("{} (client {}, server {}, {})",
                         names.at(static_cast<std::size_t>(each.kind)), each.client, each.server,
                         each.amount);
    }
    out += fmt::format(" for {:.3f} s\n", static_cast<double>(each.length) / 1e9);
  }
  return out;
}

}  // namespace sim
