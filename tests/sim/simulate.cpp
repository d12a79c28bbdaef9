// Runs of many clients against servers of our own, in virtual time: the program's own code, the
// real scripts, and all that can go wrong, by seed. See scripts/simulate.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
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
#include "shrink.hpp"

namespace sim {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1000;
  std::uint64_t seconds = 0;  // 0: the seeds decide
  std::uint64_t jobs = 1;
  std::string shape;
  std::string only;  // mistakes whose name has it
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
    if (name == "--only") {
      options.only = value;
      continue;
    }
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

// ---- processes of its own
// ------------------------------------------------------------------------------

// A mistake may make a schedule endless, or greedy.
constexpr time_t longest_schedule = 60;  // s of a processor
constexpr time_t longest_search = 120;   // for one mistake
constexpr rlim_t most_memory = rlim_t{4} << 30U;

/// SIGPROF ends this process after so many seconds of a processor.
void limit_processor(time_t seconds) {
  const itimerval limit{{}, {seconds, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
}

/// Written by processes that are forked from here on, and read by this one.
template <class Item>
Item* share(std::size_t count) {
  void* memory = ::mmap(nullptr, count * sizeof(Item), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return static_cast<Item*>(memory);
}

template <class Work>
pid_t fork_worker(const Work& work) {
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid < 0) std::abort();
  if (pid != 0) return pid;
#ifndef __SANITIZE_ADDRESS__  // which takes terabytes of addresses
  const rlimit limit{most_memory, most_memory};
  ::setrlimit(RLIMIT_AS, &limit);
#endif
  const int status = work();
  std::fflush(stdout);
  std::exit(status);
}

/// Waits for it. Nothing if it ended by itself.
std::optional<std::string> death_of(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (!WIFSIGNALED(status)) {
    if (WEXITSTATUS(status) == EXIT_SUCCESS) return std::nullopt;
    return fmt::format("ended with {}", WEXITSTATUS(status));
  }
  if (WTERMSIG(status) == SIGPROF) return "took too long";
  return fmt::format("died of signal {}", WTERMSIG(status));
}

// ---- a found failure
// -----------------------------------------------------------------------------

void tell_failure(std::uint64_t seed, const std::string& shape) {
  const auto engine = std::make_shared<ScriptEngine>();
  Plan plan = plan_of(seed, shape);
  const auto outcome = carry_out(plan, engine, {}, false);
  if (!outcome.violation) {
    fmt::print("seed {}: fails only behind others, which must not be\n", seed);
    return;
  }
  plan = shrunk(plan, *outcome.violation, engine, {});
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
  std::uint64_t seed = 0;  // the one at hand
};

/// The memory of crashed clients is never freed, so no process runs too many schedules.
constexpr std::uint64_t most_per_process = 2'000;

void run_some(std::uint64_t first, std::uint64_t step, std::uint64_t end, Clock::time_point until,
              const Options& options, Totals& totals) {
  const auto engine = std::make_shared<ScriptEngine>();
  for (auto seed = first; seed < end && Clock::now() < until; seed += step) {
    totals.seed = seed;
    limit_processor(longest_schedule);
    const Plan plan = plan_of(seed, options.shape);
    const auto outcome = carry_out(plan, engine, {}, options.tells);
    if (options.tells) fmt::print("{}{}", shown(plan), outcome.history);
    ++totals.schedules;
    totals.grants += outcome.grants;
    totals.hours += static_cast<double>(outcome.length) / 3.6e12;
    totals.fingerprint += outcome.fingerprint * (2 * seed + 1);
    if (!outcome.violation) continue;
    fmt::print("seed {} ({}): {}\n", seed, plan.shape, *outcome.violation);
    std::fflush(stdout);
    if (totals.failed++ == 0) totals.first_failed = seed;
  }
}

/// In processes of their own, `jobs` at a time.
Totals run_all(const Options& options) {
  Totals all;
  const auto until = options.seconds == 0 ? Clock::time_point::max()
                                          : Clock::now() + std::chrono::seconds{options.seconds};
  const auto end = options.seconds == 0 ? options.seed + options.seeds : ~std::uint64_t{0};
  auto* const shared = share<Totals>(options.jobs);
  for (auto first = options.seed; first < end && Clock::now() < until && all.failed == 0;) {
    const auto last = std::min(end, first + options.jobs * most_per_process);
    std::vector<pid_t> workers;
    for (std::uint64_t i = 0; i < options.jobs; ++i) {
      shared[i] = {};
      workers.push_back(fork_worker([&] {
        run_some(first + i, options.jobs, last, until, options, shared[i]);
        return EXIT_SUCCESS;
      }));
    }
    for (std::uint64_t i = 0; i < options.jobs; ++i) {
      Totals& totals = shared[i];
      if (const auto died = death_of(workers[i])) {
        fmt::print("seed {}: the simulator {}\n", totals.seed, *died);
        ++totals.failed;
      }
      all.schedules += totals.schedules;
      all.grants += totals.grants;
      all.hours += totals.hours;
      all.fingerprint += totals.fingerprint;
      if (totals.first_failed != 0 && all.first_failed == 0) all.first_failed = totals.first_failed;
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

/// Looks for it, in a process of its own; with --tell, tells the least schedule that shows it.
int look_for(const Mutant& mutant, const Options& options) {
  const auto engine = std::make_shared<ScriptEngine>();
  if (!mutant.from.empty()) engine->rewrite(mutant.from, mutant.to);
  const auto began = Clock::now();
  std::uint64_t steps = 0;
  limit_processor(longest_search);
  for (auto seed = options.seed; seed < options.seed + options.seeds; ++seed) {
    Plan plan = plan_of(seed, mutant.shape);
    const auto outcome = carry_out(plan, engine, mutant.sabotage, false);
    steps += outcome.steps;
    if (!outcome.violation) continue;
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    fmt::print("found    {:<58} seed {:>5} {:<14} {:>5} schedules {:>8} steps {:>4.1f} s: {}\n",
               mutant.name, seed, plan.shape, seed - options.seed + 1, steps, seconds,
               *outcome.violation);
    if (!options.tells) return EXIT_SUCCESS;
    limit_processor(longest_search);
    plan = shrunk(plan, *outcome.violation, engine, mutant.sabotage);
    fmt::print("{}{}", shown(plan), carry_out(plan, engine, mutant.sabotage, true).history);
    return EXIT_SUCCESS;
  }
  const bool fits = mutant.from.empty() || engine->rewritten() > 0;
  fmt::print("{} {} in {} schedules, {} steps\n", fits ? "MISSED  " : "NOT MADE", mutant.name,
             options.seeds, steps);
  return EXIT_FAILURE;
}

int find_mutants(const Options& options) {
  std::size_t found = 0;
  std::size_t planted = 0;
  for (const Mutant& each : mutants()) {
    if (each.name.find(options.only) == std::string::npos) continue;
    ++planted;
    const auto died = death_of(fork_worker([&] { return look_for(each, options); }));
    if (!died) ++found;
    if (died && *died != fmt::format("ended with {}", EXIT_FAILURE)) {
      fmt::print("MISSED   {}: the simulator {}\n", each.name, *died);
    }
  }
  fmt::print("{} of {} mistakes found\n", found, planted);
  return found == planted && planted > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
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

/// "slot" of "-- SLOT: what it is"; "parts" of the first line of a script itself; else nothing.
std::string part_that_begins(std::string_view line) {
  const auto colon = line.find(": ");
  if (!line.starts_with("-- ") || colon == std::string_view::npos) return {};
  std::string word{line.substr(3, colon - 3)};
  if (word == "parts") return word;
  if (!std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
    return {};
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return static_cast<char>(c - 'A' + 'a'); });
  return word;
}

int list_lines(const Options& options) {
  const auto engine = std::make_shared<ScriptEngine>();
  engine->count_lines();
  for (auto seed = options.seed; seed < options.seed + options.seeds; ++seed) {
    (void)carry_out(plan_of(seed, options.shape), engine, {}, false);
  }
  // A part is in several; a line of it counts where one of them executes it.
  std::map<std::string, bool> executed;
  std::map<std::string, std::string> texts;
  for (const auto& [name, script] : all_scripts()) {
    const std::string_view body = script->body;
    std::string source;
    int number = 0;
    int before = 0;
    for (std::size_t at = 0; at < body.size();) {
      const auto end = std::min(body.find('\n', at), body.size());
      const auto line = body.substr(at, end - at);
      ++number;
      if (const auto part = part_that_begins(line); !part.empty() && source != name) {
        source = part == "parts" ? name : part;
        before = number - 1;
      }
      if (is_code(line)) {
        const auto where = fmt::format("{}:{:03}", source, number - before);
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
               "       [--tell | --mutants [--only NAME] | --lines]\n",
               words[0]);
    return 64;
  }
  // The text of tokens, the same everywhere.
  ::setenv("LOGNAME", "user", 1);
  base::log::set_level(base::log::Level::quiet);
  if (options->mutants) return sim::find_mutants(*options);
  return options->lines ? sim::list_lines(*options) : sim::simulate(*options);
}
