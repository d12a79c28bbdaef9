#include "shrink.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sim {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds longest_search{5};

/// The violated promise, without the numbers.
std::string kind_of(const std::string& violation) {
  std::string kind;
  std::copy_if(violation.begin(), violation.end(), std::back_inserter(kind),
               [](char c) { return c < '0' || c > '9'; });
  return kind;
}

class Search {
 public:
  Search(Plan plan, const std::string& violation, const std::shared_ptr<ScriptEngine>& engine,
         const Sabotage& sabotage)
      : plan_{std::move(plan)},
        kind_{kind_of(violation)},
        engine_{engine},
        sabotage_{sabotage},
        ends_{Clock::now() + longest_search} {}

  Plan operator()() {
    bool shorter = true;
    while (shorter) {
      shorter = false;
      for (std::size_t i = plan_.incidents.size(); i-- > 0;) {
        shorter |= take([i](Plan& plan) { erase(plan.incidents, i); });
      }
      for (std::size_t i = plan_.clients.size(); i-- > 0;) {
        if (take([i](Plan& plan) { erase(plan.clients, i); })) {
          shorter = true;
          continue;
        }
        shorter |= fewer_wishes(i);
      }
    }
    simpler();
    return std::move(plan_);
  }

 private:
  template <class Item>
  static void erase(std::vector<Item>& all, std::size_t number) {
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(number));
  }

  bool fewer_wishes(std::size_t client) {
    bool shorter = false;
    for (std::size_t n = plan_.clients[client].wishes.size(); n-- > 0;) {
      shorter |= take([&](Plan& plan) { erase(plan.clients[client].wishes, n); });
    }
    return shorter;
  }

  /// The remaining plan, without events that do not matter.
  void simpler() {
    take([](Plan& plan) { plan.clocks.clear(); });
    take([](Plan& plan) { plan.client_clocks.clear(); });
    for (std::size_t i = 0; i < plan_.clients.size(); ++i) {
      for (std::size_t n = 0; n < plan_.clients[i].wishes.size(); ++n) {
        const auto change = [&](auto&& act) {
          take([&](Plan& plan) { act(plan.clients[i].wishes[n]); });
        };
        change([](Wish& wish) { wish.dying = {}; });
        change([](Wish& wish) { wish.wait.reset(); });
        change([](Wish& wish) { wish.max_waiters.reset(); });
        change([](Wish& wish) { wish.min_hold = {}; });
        change([](Wish& wish) { wish.max_hold.reset(); });
        change([](Wish& wish) { wish.code = 0; });
        change([](Wish& wish) { wish.keys.resize(1); });
      }
    }
  }

  /// Whether the plan breaks the same promise with that change; then it keeps it.
  template <class Change>
  bool take(const Change& change) {
    if (Clock::now() > ends_) return false;
    Plan candidate = plan_;
    change(candidate);
    const auto outcome = carry_out(candidate, engine_, sabotage_, false);
    if (!outcome.violation || kind_of(*outcome.violation) != kind_) return false;
    plan_ = std::move(candidate);
    return true;
  }

  Plan plan_;
  std::string kind_;
  const std::shared_ptr<ScriptEngine>& engine_;
  const Sabotage& sabotage_;
  Clock::time_point ends_;
};

}  // namespace

Plan shrunk(Plan plan, const std::string& violation, const std::shared_ptr<ScriptEngine>& engine,
            const Sabotage& sabotage) {
  return Search{std::move(plan), violation, engine, sabotage}();
}

}  // namespace sim
