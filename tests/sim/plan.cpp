#include "plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace sim {
namespace {

using base::Millis;
using Kind = Incident::Kind;

Millis some(Random& random, std::int64_t least, std::int64_t most) {
  return Millis{random.between(least, most)};
}

/// Most of them short, because a schedule's price is its commands.
Millis some_ttl(Random& random) {
  return random.chance(50) ? some(random, 1'000, 4'000) : some(random, 4'000, 30'000);
}

Wish some_wish(Random& random) {
  Wish wish;
  wish.after = some(random, 0, random.chance(50) ? 300 : 5'000);
  wish.keys = {"lock"};
  wish.ttl = some_ttl(random);
  const auto most = std::min<std::int64_t>(2 * wish.ttl.count(), 20'000);
  wish.work = random.chance(50) ? some(random, 0, 1'500) : some(random, 0, most);
  wish.dying = random.chance(70) ? some(random, 0, 100) : some(random, 0, 10'000);
  if (random.chance(15)) wish.wait = random.chance(40) ? Millis{0} : some(random, 1, 15'000);
  return wish;
}

void add_clients(Plan& plan, Random& random, std::size_t most,
                 const std::function<void(Wish&)>& adapt) {
  const auto count = 2 + random.number(most - 1);
  for (std::size_t i = 1; i <= count; ++i) {
    ClientPlan client{static_cast<int>(i), {}};
    const auto wishes = random.chance(70) ? 1 : 2;
    for (int n = 0; n < wishes; ++n) {
      Wish wish = some_wish(random);
      adapt(wish);
      client.wishes.push_back(std::move(wish));
    }
    plan.clients.push_back(std::move(client));
  }
}

Incident some_incident(Plan& plan, Random& random) {
  static const std::vector<Kind> any{Kind::disturbance,   Kind::disturbance,
                                     Kind::disturbance,   Kind::crash,
                                     Kind::crash,         Kind::crash,
                                     Kind::pause,         Kind::stop_server,
                                     Kind::flush_scripts, Kind::restart_with_data,
                                     Kind::out_of_memory, Kind::step_clock,
                                     Kind::drift,         Kind::restart_without_data,
                                     Kind::terminate};
  Incident incident{random.pick(any)};
  incident.at = random.between(0, 12'000) * ms;
  incident.length = random.between(1, random.chance(70) ? 1'500 : 15'000) * ms;
  incident.client = 1 + static_cast<int>(random.number(plan.clients.size()));
  incident.server = random.number(plan.servers);
  if (incident.kind == Kind::step_clock) {
    const auto most = random.chance(50) ? 500'000 : 20'000'000;
    incident.amount = random.between(-most, most);
  }
  if (incident.kind == Kind::drift) incident.amount = random.between(-5'000, 5'000);
  if (incident.kind == Kind::disturbance) {
    Disturbance it{static_cast<Disturbance::Kind>(random.number(4)), incident.at,
                   incident.at + incident.length, static_cast<unsigned>(random.between(5, 100))};
    it.length = random.between(1, random.chance(50) ? 200 : 6'000) * ms;
    if (random.chance(50)) it.process = incident.client;
    if (random.chance(50)) it.server = static_cast<int>(incident.server);
    incident.disturbance = it;
  }
  return incident;
}

/// None, what only clients suffer, or anything.
void add_incidents(Plan& plan, Random& random) {
  const auto kind = random.number(10);
  if (kind < 2) return;
  const auto before = static_cast<std::ptrdiff_t>(plan.incidents.size());
  const auto count = 1 + random.number(4);
  for (std::size_t i = 0; i < count; ++i) {
    Incident incident = some_incident(plan, random);
    if (kind < 5) incident.kind = random.chance(80) ? Kind::crash : Kind::pause;
    if (incident.kind != Kind::disturbance) incident.disturbance.reset();
    plan.incidents.push_back(std::move(incident));
  }
  // The dead are seldom alone: a host crashes with all that run there.
  if (kind == 4) {
    const auto first = plan.incidents.begin() + before;
    const auto at = first->at;
    std::for_each(first, plan.incidents.end(), [&](Incident& each) {
      each.kind = Kind::crash;
      each.at = at + random.between(0, 50) * ms;
    });
  }
}

/// Jobs that have --max-hold, and those who send TERM again.
void add_ends(Plan& plan, Random& random) {
  for (ClientPlan& client : plan.clients) {
    for (Wish& wish : client.wishes) {
      if (random.chance(10)) wish.max_hold = some(random, 500, 8'000);
    }
  }
  for (std::size_t i = 0, count = plan.incidents.size(); i < count; ++i) {
    if (plan.incidents[i].kind != Kind::terminate || random.chance(50)) continue;
    Incident again = plan.incidents[i];
    again.at += random.between(1, 2'000) * ms;
    plan.incidents.push_back(again);
  }
}

void add_operator(Plan& plan, Random& random, Kind kind) {
  const auto count = 1 + random.number(2);
  for (std::size_t i = 0; i < count; ++i) {
    Incident incident{kind};
    incident.at = random.between(100, 10'000) * ms;
    incident.key = plan.clients.front().wishes.front().keys.front();
    incident.length = random.between(100, 8'000) * ms;
    plan.incidents.push_back(std::move(incident));
  }
}

/// The holder of the first lock may be waiting for the second one when another client wants the
/// first.
std::vector<std::string> one_or_both(Random& random) {
  static const std::vector<std::vector<std::string>> sets{
      {"lock"}, {"lock"}, {"lock", "other"}, {"lock", "other"}, {"other"}};
  return random.pick(sets);
}

/// Those who want it of three servers.
void add_bidders(Plan& plan, Random& random, const std::function<void(Wish&)>& adapt) {
  plan.servers = 3;
  add_clients(plan, random, 3, [&](Wish& wish) {
    wish.work = some(random, 0, 3'000);
    if (wish.ttl > Millis{8'000}) wish.ttl /= 4;
    adapt(wish);
  });
}

/// Runs for a slot, or two: most of them wait, as spares.
void add_slots(Plan& plan, Random& random, unsigned retries) {
  for (ClientPlan& client : plan.clients) {
    for (Wish& wish : client.wishes) {
      wish.slot = store::Slot{random.chance(80) ? "one" : "other", retries};
      if (random.chance(retries > 0 ? 60 : 10)) wish.code = 1 + static_cast<int>(random.number(9));
      wish.work = some(random, 0, 3'000);
    }
  }
}

// After that, clients that lost a connection have another one: a listener tries again after a
// second.
constexpr Nanos reconnected = 4 * s;

bool befalls_clients(const Incident& incident) {
  switch (incident.kind) {
    case Kind::crash:
    case Kind::pause:
    case Kind::terminate:
    case Kind::cancel:
    case Kind::force_release:
    case Kind::foreign:
    case Kind::flush_scripts: return true;
    default: return false;
  }
}

struct Shape {
  const char* name;
  void (*build)(Plan&, Random&);
};

const std::vector<Shape> all_shapes{
    {"exclusive", [](Plan& plan, Random& random) { add_clients(plan, random, 5, [](Wish&) {}); }},
    {"crowd",
     [](Plan& plan, Random& random) {
       add_clients(plan, random, 12, [&](Wish& wish) { wish.work = some(random, 0, 1'000); });
     }},
    {"shared",
     [](Plan& plan, Random& random) {
       add_clients(plan, random, 6, [&](Wish& wish) {
         if (random.chance(65)) wish.mode.kind = store::Mode::Kind::shared;
       });
     }},
    {"permits",
     [](Plan& plan, Random& random) {
       const auto permits = static_cast<unsigned>(random.between(2, 3));
       add_clients(plan, random, 6, [&](Wish& wish) {
         wish.mode = {store::Mode::Kind::permits, permits};
       });
     }},
    {"several",
     [](Plan& plan, Random& random) {
       add_clients(plan, random, 4, [&](Wish& wish) {
         static const std::vector<std::vector<std::string>> sets{
             {"a", "b"}, {"a"}, {"b"}, {"a", "b", "c"}};
         wish.keys = random.pick(sets);
       });
     }},
    {"supersede",
     [](Plan& plan, Random& random) {
       add_clients(plan, random, 4, [&](Wish& wish) { wish.supersedes = random.chance(70); });
       if (random.chance(60)) {
         Incident lost{Kind::disturbance, 0, 12 * s};
         lost.disturbance = Disturbance{Disturbance::Kind::cut_answers, 0, 12 * s,
                                        static_cast<unsigned>(random.between(5, 40))};
         plan.incidents.push_back(lost);
       }
     }},
    {"max-waiters",
     [](Plan& plan, Random& random) {
       add_clients(plan, random, 6, [&](Wish& wish) {
         if (random.chance(70)) wish.max_waiters = static_cast<unsigned>(random.number(3));
       });
     }},
    {"min-hold",
     [](Plan& plan, Random& random) {
       add_clients(plan, random, 4, [&](Wish& wish) {
         if (random.chance(60)) wish.min_hold = some(random, 1, wish.ttl.count());
         wish.work = some(random, 0, 1'000);
         if (random.chance(30)) wish.mode.kind = store::Mode::Kind::shared;
       });
     }},
    {"cancel",
     [](Plan& plan, Random& random) {
       add_clients(plan, random, 4, [&](Wish& wish) {
         if (random.chance(50)) wish.keys = {"lock", "other"};
         if (random.chance(30)) wish.mode.kind = store::Mode::Kind::shared;
       });
       add_operator(plan, random, Kind::cancel);
     }},
    {"force-release",
     [](Plan& plan, Random& random) {
       add_clients(plan, random, 4, [&](Wish& wish) {
         if (random.chance(30)) wish.mode.kind = store::Mode::Kind::shared;
       });
       add_operator(plan, random, Kind::force_release);
     }},
    {"foreign",
     [](Plan& plan, Random& random) {
       add_clients(plan, random, 3, [](Wish&) {});
       add_operator(plan, random, Kind::foreign);
     }},
    {"steps",
     [](Plan& plan, Random& random) {
       add_clients(plan, random, 4, [&](Wish& wish) {
         if (random.chance(30)) wish.keys = {"lock", "other"};
         if (random.chance(30)) wish.mode.kind = store::Mode::Kind::shared;
         wish.in_steps = random.chance(60);
       });
     }},
    {"modes",
     [](Plan& plan, Random& random) {
       add_clients(plan, random, 5, [&](Wish& wish) {
         static const std::vector<store::Mode> modes{{},
                                                     {},
                                                     {store::Mode::Kind::shared},
                                                     {store::Mode::Kind::permits, 2},
                                                     {store::Mode::Kind::permits, 3}};
         wish.mode = random.pick(modes);
       });
     }},
    {"slot",
     [](Plan& plan, Random& random) {
       add_clients(plan, random, 7, [](Wish&) {});
       add_slots(plan, random, 0);
     }},
    {"slot-retry",
     [](Plan& plan, Random& random) {
       add_clients(plan, random, 7, [](Wish&) {});
       add_slots(plan, random, 1 + static_cast<unsigned>(random.number(2)));
     }},
    {"slot-cancel",
     [](Plan& plan, Random& random) {
       add_clients(plan, random, 5, [](Wish&) {});
       add_slots(plan, random, 0);
       add_operator(plan, random, random.chance(70) ? Kind::cancel : Kind::force_release);
     }},
    {"quorum", [](Plan& plan, Random& random) { add_bidders(plan, random, [](Wish&) {}); }},
    {"quorum-several",
     [](Plan& plan, Random& random) {
       add_bidders(plan, random, [&](Wish& wish) {
         static const std::vector<std::vector<std::string>> sets{{"a", "b"}, {"a"}, {"b"}};
         wish.keys = random.pick(sets);
       });
     }},
    {"quorum-min-hold",
     [](Plan& plan, Random& random) {
       add_bidders(plan, random, [&](Wish& wish) {
         if (random.chance(60)) wish.min_hold = some(random, 1, wish.ttl.count());
         wish.work = some(random, 0, 1'000);
       });
     }},
    {"quorum-steps",
     [](Plan& plan, Random& random) {
       add_bidders(plan, random, [&](Wish& wish) {
         if (random.chance(20)) wish.keys = {"lock", "other"};
         wish.in_steps = random.chance(60);
       });
     }},
    {"quorum-cancel",
     [](Plan& plan, Random& random) {
       add_bidders(plan, random, [&](Wish& wish) {
         wish.keys = one_or_both(random);
         if (random.chance(50)) wish.work = some(random, 2'000, 6'000);
       });
       add_operator(plan, random, Kind::cancel);
     }},
    {"quorum-force-release",
     [](Plan& plan, Random& random) {
       add_bidders(plan, random, [&](Wish& wish) {
         wish.keys = one_or_both(random);
         if (random.chance(50)) wish.work = some(random, 2'000, 6'000);
       });
       add_operator(plan, random, Kind::force_release);
     }},
    {"quorum-slot",
     [](Plan& plan, Random& random) {
       add_bidders(plan, random, [](Wish&) {});
       add_slots(plan, random, 0);
     }},
    {"quorum-slot-retry",
     [](Plan& plan, Random& random) {
       add_bidders(plan, random, [](Wish&) {});
       add_slots(plan, random, 1 + static_cast<unsigned>(random.number(2)));
     }},
    {"quorum-slot-cancel",
     [](Plan& plan, Random& random) {
       add_bidders(plan, random, [](Wish&) {});
       add_slots(plan, random, 0);
       add_operator(plan, random, random.chance(70) ? Kind::cancel : Kind::force_release);
     }},
    // Two servers miss half of what they are told, and each run fails: a release is heard by one
    // server first, by the others later, and bids for the next run come between.
    {"quorum-slot-unheard",
     [](Plan& plan, Random& random) {
       add_bidders(plan, random, [](Wish&) {});
       add_slots(plan, random, 1 + static_cast<unsigned>(random.number(2)));
       for (ClientPlan& client : plan.clients) {
         for (Wish& wish : client.wishes) {
           wish.slot->id = "one";
           wish.code = 1;
           wish.after = some(random, 0, 1'000);
           wish.work = some(random, 0, 500);
         }
       }
       const auto well = static_cast<int>(random.number(3));
       for (int server = 0; server < 3; ++server) {
         if (server == well) continue;
         Incident deaf{Kind::disturbance, 0, 6 * s};
         deaf.disturbance = Disturbance{Disturbance::Kind::cut_commands, 0, 6 * s,
                                        static_cast<unsigned>(random.between(30, 70))};
         deaf.disturbance->server = server;
         plan.incidents.push_back(deaf);
       }
     }},
    // All at once.
    {"quorum-crowd",
     [](Plan& plan, Random& random) {
       plan.servers = 3;
       add_clients(plan, random, 10, [&](Wish& wish) {
         if (random.chance(70)) wish.after = Millis{0};
         wish.work = some(random, 0, 300);
         if (wish.ttl < Millis{3'000}) wish.ttl *= 3;
         if (wish.ttl > Millis{8'000}) wish.ttl /= 3;
       });
     }},
    // Readers and writers behind them: a reader and the first writer go without a word.
    {"dead-readers",
     [](Plan& plan, Random& random) {
       for (int number = 1; number <= 4; ++number) {
         Wish wish = some_wish(random);
         const bool reads = number < 3;
         if (reads) wish.mode.kind = store::Mode::Kind::shared;
         wish.after =
             Millis{reads ? random.between(0, 200) : random.between(200, 500) * (number - 2)};
         wish.wait.reset();
         if (reads) wish.work = some(random, 3'000, 6'000);
         plan.clients.push_back({number, {std::move(wish)}});
       }
       for (const int number : {1, 3}) {
         Incident crash{Kind::crash, random.between(1'200, 2'000) * ms, 1 * s};
         crash.client = number;
         plan.incidents.push_back(crash);
       }
     }},
    // Behind a proxy that lets nobody block; by its name only.
    {"cut-waits",
     [](Plan& plan, Random& random) {
       add_clients(plan, random, 4, [&](Wish& wish) { wish.work = some(random, 500, 4'000); });
       Incident proxy{Kind::disturbance, 0, 120 * s};
       proxy.disturbance = Disturbance{Disturbance::Kind::cut_waits, 0, 120 * s};
       plan.incidents.push_back(proxy);
     }},
    {"quorum-shared",
     [](Plan& plan, Random& random) {
       add_bidders(plan, random, [&](Wish& wish) {
         if (random.chance(65)) wish.mode.kind = store::Mode::Kind::shared;
       });
     }},
    // All at once.
    {"quorum-shared-crowd",
     [](Plan& plan, Random& random) {
       plan.servers = 3;
       add_clients(plan, random, 10, [&](Wish& wish) {
         if (random.chance(70)) wish.after = Millis{0};
         wish.work = some(random, 0, 600);
         if (wish.ttl < Millis{3'000}) wish.ttl *= 3;
         if (wish.ttl > Millis{8'000}) wish.ttl /= 3;
         if (random.chance(65)) wish.mode.kind = store::Mode::Kind::shared;
       });
     }},
    {"quorum-shared-steps",
     [](Plan& plan, Random& random) {
       add_bidders(plan, random, [&](Wish& wish) {
         if (random.chance(60)) wish.mode.kind = store::Mode::Kind::shared;
         if (random.chance(20)) wish.keys = {"lock", "other"};
         wish.in_steps = random.chance(60);
       });
     }},
    {"quorum-shared-min-hold",
     [](Plan& plan, Random& random) {
       add_bidders(plan, random, [&](Wish& wish) {
         if (random.chance(60)) wish.mode.kind = store::Mode::Kind::shared;
         if (random.chance(60)) wish.min_hold = some(random, 1, wish.ttl.count());
         wish.work = some(random, 0, 1'000);
       });
     }},
    {"quorum-shared-operator",
     [](Plan& plan, Random& random) {
       add_bidders(plan, random, [&](Wish& wish) {
         if (random.chance(60)) wish.mode.kind = store::Mode::Kind::shared;
         wish.keys = one_or_both(random);
         if (random.chance(50)) wish.work = some(random, 2'000, 6'000);
       });
       add_operator(plan, random, random.chance(50) ? Kind::cancel : Kind::force_release);
     }},
};

// On a server that keeps records, those of which the judge sees all that it has to at the clients:
// who holds, until when, with which fence. The rules decide for such a server; compare-rules
// compares them with the scripts.
constexpr std::string_view on_records = "records";
const std::vector<std::string> shapes_on_records{
    "exclusive", "crowd",       "shared",   "permits", "several", "supersede",
    "modes",     "max-waiters", "min-hold", "steps",   "cancel",  "force-release"};

std::vector<Shape>::const_iterator shape_at(std::string_view name) {
  return std::find_if(all_shapes.begin(), all_shapes.end(),
                      [&](const Shape& each) { return each.name == name; });
}

}  // namespace

bool Plan::has(Incident::Kind kind) const {
  return std::any_of(incidents.begin(), incidents.end(),
                     [&](const Incident& each) { return each.kind == kind; });
}

bool Plan::is_calm() const {
  return std::all_of(incidents.begin(), incidents.end(),
                     [](const Incident& each) { return befalls_clients(each); });
}

bool Plan::is_calm_from(Nanos when) const {
  return std::all_of(incidents.begin(), incidents.end(), [&](const Incident& each) {
    if (befalls_clients(each)) return true;
    const bool cuts = each.disturbance && each.disturbance->kind <= Disturbance::Kind::cut_answers;
    return (cuts || each.kind == Kind::restart_with_data) &&
           each.at + each.length + reconnected < when;
  });
}

bool Plan::nobody_dies() const {
  return std::all_of(incidents.begin(), incidents.end(), [](const Incident& each) {
    return befalls_clients(each) && each.kind != Kind::crash && each.kind != Kind::pause;
  });
}

bool Plan::stops_holders() const {
  return has(Kind::cancel) || any_wish([](const Wish& each) { return each.supersedes; });
}

bool Plan::has_clock_set_back() const {
  return std::any_of(incidents.begin(), incidents.end(), [](const Incident& each) {
    return each.kind == Kind::step_clock && each.amount < 0;
  });
}

const std::vector<std::string>& shapes() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> result;
    for (const Shape& each : all_shapes) result.emplace_back(each.name);
    result.emplace_back(on_records);
    return result;
  }();
  return all;
}

Plan plan_of(std::uint64_t seed, const std::string& shape) {
  if (shape == on_records) {
    Plan plan = plan_of(seed, shapes_on_records[seed % shapes_on_records.size()]);
    plan.shape = fmt::format("{} of {}", plan.shape, on_records);
    plan.records = true;
    plan.history = Millis{0};
    for (Incident& each : plan.incidents) {
      // Such a server also writes for a refresh: one that cannot is as good as away.
      if (each.kind == Kind::out_of_memory) each.kind = Kind::stop_server;
    }
    return plan;
  }
  Random random{seed * 0x2545F4914F6CDD1DU + 1};
  Plan plan;
  plan.seed = seed;
  // With chances of their own, so that what was found with a seed before is found with it still.
  Random more{seed * 0x9E3779B97F4A7C15U + 2};
  // The shapes of a quorum, which cost most, share one place. Those behind `dead-readers` are not
  // among them, so that a seed without a shape goes on to mean what it did; readers on a quorum
  // have a part of these seeds.
  const auto quorum = static_cast<std::size_t>(shape_at("quorum") - all_shapes.begin());
  auto chosen = random.number(quorum + 1);
  const auto found = shape_at(shape);
  if (found == all_shapes.end() && chosen == quorum) {
    const auto last = static_cast<std::size_t>(shape_at("dead-readers") - all_shapes.begin());
    chosen += more.number(last + 1 - quorum);
    Random newer{seed * 0x9E3779B97F4A7C15U + 4};
    const auto readers = static_cast<std::size_t>(shape_at("quorum-shared") - all_shapes.begin());
    if (newer.chance(25)) chosen = readers + newer.number(all_shapes.size() - readers);
  }
  const Shape& it = found == all_shapes.end() ? all_shapes[chosen] : *found;
  plan.shape = it.name;
  it.build(plan, random);
  add_incidents(plan, random);
  // A script that is stopped between two steps is stopped by nobody at the end of its lease.
  for (Incident& each : plan.incidents) {
    if (plan.shape.ends_with("steps") && each.kind == Kind::pause) each.kind = Kind::crash;
  }
  if (plan.servers > 1 && more.chance(50)) {
    for (std::size_t i = 0; i < plan.servers; ++i) {
      plan.clocks.push_back(more.between(-5'000'000, 5'000'000));
    }
  }
  for (ClientPlan& client : plan.clients) {
    for (Wish& wish : client.wishes) {
      if (plan.shape == "supersede" && more.chance(20)) wish.mode.kind = store::Mode::Kind::shared;
      if (wish.in_steps && more.chance(30)) wish.refreshed_ttl = wish.ttl / 2;
    }
  }
  if (plan.shape == "supersede") {
    const bool of_permits = more.chance(30);
    const auto permits = static_cast<unsigned>(more.between(2, 3));
    for (ClientPlan& client : plan.clients) {
      for (Wish& wish : client.wishes) {
        if (of_permits) wish.mode = {store::Mode::Kind::permits, permits};
        if (more.chance(20)) wish.max_waiters = static_cast<unsigned>(more.number(3));
      }
    }
  }
  if (plan.servers > 1 && more.chance(10)) plan.servers = 5;
  // Their tickets are times.
  Random clocks{seed * 0x9E3779B97F4A7C15U + 3};
  if (plan.servers > 1 && clocks.chance(40)) {
    const auto most = clocks.chance(50) ? 3'000'000 : 100'000;
    for (std::size_t i = 0; i <= plan.clients.size(); ++i) {
      plan.client_clocks.push_back(clocks.between(-most, most));
    }
  }
  // A late request to a slow server is about a try that is over.
  if (plan.servers > 1 && more.chance(30)) {
    Incident late{Kind::disturbance, 0, 15 * s};
    late.disturbance =
        Disturbance{Disturbance::Kind::slow, 0, 15 * s, 100, more.between(20, 2'000) * ms};
    late.disturbance->server = static_cast<int>(more.number(plan.servers));
    plan.incidents.push_back(late);
  }
  if (plan.shape == "force-release") {
    for (ClientPlan& client : plan.clients) {
      for (Wish& wish : client.wishes) wish.keys = one_or_both(more);
    }
  }
  const bool regressions_elsewhere = plan.servers > 1 || plan.shape == "crowd" ||
                                     plan.shape == "several" || plan.shape == "modes" ||
                                     plan.shape.starts_with("slot");
  if (regressions_elsewhere) add_ends(plan, more);
  // The holder's connections are cut, and new ones made, before anybody cancels it.
  if (plan.shape.ends_with("cancel") && more.chance(15)) {
    Incident restart{Kind::restart_with_data, more.between(1'000, 3'000) * ms,
                     more.between(1, 300) * ms};
    for (Incident& each : plan.incidents) {
      if (each.kind == Kind::cancel) each.at = more.between(9'000, 12'000) * ms;
    }
    plan.clients.front().wishes.front().work = Millis{20'000};
    for (restart.server = 0; restart.server < plan.servers; ++restart.server) {
      plan.incidents.push_back(restart);
    }
  }
  const bool has_slots = plan.any_wish([](const Wish& each) { return each.slot.has_value(); });
  if (more.chance(50) || has_slots) plan.history = Millis{600'000};
  return plan;
}

}  // namespace sim
