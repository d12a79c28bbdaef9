// Runs of many clients against servers of our own, in virtual time: the program's own code, the
// real scripts, and all that can go wrong, by seed. See scripts/simulate.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "clients.hpp"
#include "commands.hpp"
#include "mutants.hpp"
#include "plan.hpp"
#include "scripts.hpp"

namespace sim {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1000;
  std::uint64_t seconds = 0;  // 0: the seeds decide
  std::uint64_t jobs = 1;
  std::string shape;
  bool tells = false;
  bool mutants = false;
  bool lines = false;
};

std::optional<Options> options_in(int count, char** words) {
  Options options;
  const std::map<std::string_view, std::uint64_t*> numbers{{"--seed", &options.seed},
                                                           {"--seeds", &options.seeds},
                                                           {"--seconds", &options.seconds},
                                                           {"--jobs", &options.jobs}};
  const std::map<std::string_view, bool*> flags{
      {"--tell", &options.tells}, {"--mutants", &options.mutants}, {"--lines", &options.lines}};
  for (int i = 1; i < count; ++i) {
    const std::string_view name = words[i];
    if (const auto flag = flags.find(name); flag != flags.end()) {
      *flag->second = true;
      continue;
    }
    if (i + 1 == count) return std::nullopt;
    const std::string value = words[++i];
    if (name == "--shape") {
      const auto& all = shapes();
      if (std::find(all.begin(), all.end(), value) == all.end()) return std::nullopt;
      options.shape = value;
      continue;
    }
    const auto number = integer_in(value);
    const auto into = numbers.find(name);
    if (!number || *number < 0 || into == numbers.end()) return std::nullopt;
    *into->second = static_cast<std::uint64_t>(*number);
  }
  return options;
}

// ---- a found failure
// -----------------------------------------------------------------------------

/// What was violated, without the numbers.
std::string kind_of(const std::string& violation) {
  std::string kind;
  for (const char c : violation) {
    if (c < '0' || c > '9') kind += c;
  }
  return kind;
}

/// A plan with less in it that violates the same.
Plan shrunk(Plan plan, const std::string& kind, const std::shared_ptr<ScriptEngine>& engine,
            const Sabotage& sabotage) {
  const auto fails = [&](const Plan& each) {
    const auto outcome = carry_out(each, engine, sabotage, false);
    return outcome.violation && kind_of(*outcome.violation) == kind;
  };
  for (bool shorter = true; shorter;) {
    shorter = false;
    const auto take = [&](Plan&& candidate) {
      if (!fails(candidate)) return false;
      plan = std::move(candidate);
      return shorter = true;
    };
    for (std::size_t i = plan.incidents.size(); i-- > 0;) {
      Plan candidate = plan;
      candidate.incidents.erase(candidate.incidents.begin() + static_cast<std::ptrdiff_t>(i));
      take(std::move(candidate));
    }
    for (std::size_t i = plan.clients.size(); i-- > 0;) {
      Plan candidate = plan;
      candidate.clients.erase(candidate.clients.begin() + static_cast<std::ptrdiff_t>(i));
      if (take(std::move(candidate))) continue;
      for (std::size_t n = plan.clients[i].wishes.size(); n-- > 0;) {
        Plan fewer = plan;
        auto& wishes = fewer.clients[i].wishes;
        wishes.erase(wishes.begin() + static_cast<std::ptrdiff_t>(n));
        take(std::move(fewer));
      }
    }
  }
  return plan;
}

void tell_failure(std::uint64_t seed, const std::string& shape) {
  const auto engine = std::make_shared<ScriptEngine>();
  Plan plan = plan_of(seed, shape);
  const auto outcome = carry_out(plan, engine, {}, false);
  if (!outcome.violation) {
    fmt::print("seed {}: fails only behind others, which must not be\n", seed);
    return;
  }
  plan = shrunk(plan, kind_of(*outcome.violation), engine, {});
  const auto told = carry_out(plan, engine, {}, true);
  fmt::print("seed {}: {}\nThe least of it that fails:\n{}{}  {}\n\n", seed, *outcome.violation,
             shown(plan), told.history, told.violation.value_or("(does not fail when it is told)"));
}

// ---- many
// ------------------------------------------------------------------------------------------

struct Totals {
  std::uint64_t schedules = 0;
  std::uint64_t failed = 0;
  std::uint64_t grants = 0;
  double hours = 0;
  std::uint64_t fingerprint = 0;
  std::uint64_t first_failed = 0;
};

/// What crashed clients had in memory is never freed; so each process does not do too many.
constexpr std::uint64_t most_per_process = 2'000;

Totals run_some(std::uint64_t first, std::uint64_t step, std::uint64_t end, Clock::time_point until,
                const Options& options) {
  const auto engine = std::make_shared<ScriptEngine>();
  Totals totals;
  for (auto seed = first; seed < end && Clock::now() < until; seed += step) {
    const Plan plan = plan_of(seed, options.shape);
    const auto outcome = carry_out(plan, engine, {}, options.tells);
    if (options.tells) fmt::print("{}{}", shown(plan), outcome.history);
    ++totals.schedules;
    totals.grants += outcome.grants;
    totals.hours += static_cast<double>(outcome.length) / 3.6e12;
    totals.fingerprint += outcome.fingerprint * (2 * seed + 1);
    if (!outcome.violation) continue;
    fmt::print("seed {} ({}): {}\n", seed, plan.shape, *outcome.violation);
    if (totals.failed++ == 0) totals.first_failed = seed;
  }
  std::fflush(stdout);
  return totals;
}

/// In processes of their own, `jobs` at a time.
Totals run_all(const Options& options) {
  Totals all;
  const auto until = options.seconds == 0 ? Clock::time_point::max()
                                          : Clock::now() + std::chrono::seconds{options.seconds};
  const auto end = options.seconds == 0 ? options.seed + options.seeds : ~std::uint64_t{0};
  for (auto first = options.seed; first < end && Clock::now() < until && all.failed == 0;) {
    const auto last = std::min(end, first + options.jobs * most_per_process);
    std::vector<std::pair<pid_t, int>> workers;
    for (std::uint64_t i = 0; i < options.jobs; ++i) {
      int ends[2];
      if (::pipe(ends) != 0) std::abort();
      const pid_t pid = ::fork();
      if (pid < 0) std::abort();
      if (pid == 0) {
        const auto totals = run_some(first + i, options.jobs, last, until, options);
        const bool written = ::write(ends[1], &totals, sizeof totals) == sizeof totals;
        std::exit(written ? EXIT_SUCCESS : EXIT_FAILURE);
      }
      ::close(ends[1]);
      workers.emplace_back(pid, ends[0]);
    }
    for (const auto& [pid, from] : workers) {
      Totals totals;
      const bool whole = ::read(from, &totals, sizeof totals) == sizeof totals;
      ::close(from);
      int status = 0;
      ::waitpid(pid, &status, 0);
      if (!whole || status != 0) {
        fmt::print("a process of the simulator died ({}), with seeds from {}\n", status, first);
        ++all.failed;
      }
      all.schedules += totals.schedules;
      all.grants += totals.grants;
      all.hours += totals.hours;
      all.fingerprint += totals.fingerprint;
      if (totals.failed > 0 && all.first_failed == 0) all.first_failed = totals.first_failed;
      all.failed += totals.failed;
    }
    first = last;
  }
  return all;
}

int simulate(const Options& options) {
  const auto began = Clock::now();
  const Totals all = run_all(options);
  if (all.first_failed != 0) tell_failure(all.first_failed, options.shape);
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  fmt::print("{} schedules, {} grants, {:.0f} hours, fingerprint {:016x}, {} failed\n",
             all.schedules, all.grants, all.hours, all.fingerprint, all.failed);
  fmt::print(stderr, "{:.1f} s, {:.0f} schedules a second\n", seconds,
             static_cast<double>(all.schedules) / seconds);
  return all.failed == 0 && all.schedules > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

// ---- planted mistakes
// ------------------------------------------------------------------------------

/// Whether it is found; in a process of its own, which it may bring down.
bool find(const Mutant& mutant, const Options& options) {
  const pid_t pid = ::fork();
  if (pid != 0) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status == 0;
  }
  const auto engine = std::make_shared<ScriptEngine>();
  if (!mutant.from.empty()) engine->rewrite(mutant.from, mutant.to);
  const auto began = Clock::now();
  std::uint64_t grants = 0;
  for (auto seed = options.seed; seed < options.seed + options.seeds; ++seed) {
    const auto outcome = carry_out(plan_of(seed, mutant.shape), engine, mutant.sabotage, false);
    grants += outcome.grants;
    if (!outcome.violation) continue;
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    fmt::print("found    {:<58} {:>5} schedules, {:>6} grants, {:>4.1f} s: {}\n", mutant.name,
               seed - options.seed + 1, grants, seconds, *outcome.violation);
    std::fflush(stdout);
    std::exit(EXIT_SUCCESS);
  }
  const bool fits = mutant.from.empty() || engine->rewritten() > 0;
  fmt::print("{} {}\n", fits ? "MISSED  " : "NOT MADE", mutant.name);
  std::fflush(stdout);
  std::exit(EXIT_FAILURE);
}

int find_mutants(const Options& options) {
  std::size_t found = 0;
  for (const Mutant& each : mutants()) found += find(each, options) ? 1U : 0U;
  fmt::print("{} of {} mistakes found\n", found, mutants().size());
  return found == mutants().size() ? EXIT_SUCCESS : EXIT_FAILURE;
}

// ---- lines of the scripts
// --------------------------------------------------------------------------

/// Lines that can be executed, as far as a look at the text can tell.
bool is_code(std::string_view line) {
  const auto begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos) return false;
  line.remove_prefix(begin);
  if (line.starts_with("--")) return false;
  const auto word = line.substr(0, line.find_first_of(" )-,"));
  return word != "end" && word != "else";
}

int list_lines(const Options& options) {
  const auto engine = std::make_shared<ScriptEngine>();
  engine->count_lines();
  for (auto seed = options.seed; seed < options.seed + options.seeds; ++seed) {
    (void)carry_out(plan_of(seed, options.shape), engine, {}, false);
  }
  // The prologue is in each; a line of it counts where one of them executes it.
  std::map<std::string, bool> executed;
  std::map<std::string, std::string> texts;
  for (const auto& [name, script] : all_scripts()) {
    const std::string_view body = script->body;
    const auto own = body.find("\n-- ", body.find("'none', 0"));
    int number = 0;
    int first_own = 0;
    for (std::size_t at = 0; at < body.size();) {
      const auto end = std::min(body.find('\n', at), body.size());
      const auto line = body.substr(at, end - at);
      ++number;
      if (at > own && first_own == 0) first_own = number;
      if (is_code(line)) {
        const bool is_own = first_own != 0;
        const auto where = is_own ? fmt::format("{}:{:03}", name, number - first_own + 1)
                                  : fmt::format("prologue:{:03}", number);
        executed[where] |= engine->lines().contains({std::string{script->sha1}, number});
        texts[where] = line;
      }
      at = end + 1;
    }
  }
  std::size_t count = 0;
  for (const auto& [where, was] : executed) {
    count += was ? 1U : 0U;
    if (!was) fmt::print("{}  {}\n", where, texts[where]);
  }
  fmt::print("{} of {} lines of Lua executed\n", count, executed.size());
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace sim

int main(int count, char** words) {
  const auto options = sim::options_in(count, words);
  if (!options) {
    fmt::print(stderr,
               "usage: {} [--seed N] [--seeds N] [--seconds N] [--shape NAME] [--jobs N]\n"
               "       [--tell | --mutants | --lines]\n",
               words[0]);
    return 64;
  }
  // What tokens say, the same everywhere.
  ::setenv("LOGNAME", "user", 1);
  base::log::set_level(base::log::Level::quiet);
  if (options->mutants) return sim::find_mutants(*options);
  return options->lines ? sim::list_lines(*options) : sim::simulate(*options);
}
