// Runs a command under a lock as rlock does, by the library's header alone, so that the contract of
// the program (tests/servers/contract.bats) is asked of the library too.
//
// usage: library-run [RLOCK OPTION]... -- COMMAND...
//
// Subcommands, and options that are the program's alone, are the business of the rlock beside it,
// which takes its place.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rlock/rlock.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int busy = 75;
constexpr int no_server = 69;
constexpr int usage = 64;
constexpr int conflict = 78;
constexpr int lost = 76;
constexpr int by_signal = 128;

struct Wish {
  rlock::Options options{};
  std::vector<std::string> keys{};
  std::string slot{};
  unsigned retries = 0;
  bool waits = false;
  bool shares = false;
  bool quiet = false;
  int exit_if_busy = busy;
  std::vector<std::string> command{};
};

rlock::Millis duration_in(const std::string& text) {
  std::size_t end = 0;
  const auto number = std::stol(text, &end);
  const auto unit = text.substr(end);
  if (unit == "ms") return rlock::Millis{number};
  if (unit == "m") return std::chrono::minutes{number};
  if (unit == "h") return std::chrono::hours{number};
  return std::chrono::seconds{number};
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream text{list};
  for (std::string part; std::getline(text, part, ',');) parts.push_back(part);
  return parts;
}

/// Nothing if it is the program's business.
std::optional<Wish> wish_in(int argc, char** argv) {
  Wish wish;
  using Take = std::function<void(const std::string&)>;
  const std::map<std::string, Take> with_value{
      {"-k", [&](const auto& text) { wish.keys.push_back(text); }},
      {"-w",
       [&](const auto& text) {
         wish.waits = true;
         wish.options.wait = duration_in(text);
       }},
      {"-E", [&](const auto& text) { wish.exit_if_busy = std::stoi(text); }},
      {"--ttl", [&](const auto& text) { wish.options.ttl = duration_in(text); }},
      {"--grace", [&](const auto& text) { wish.options.grace = duration_in(text); }},
      {"--label", [&](const auto& text) { wish.options.label = text; }},
      {"--reason", [&](const auto& text) { wish.options.reason = text; }},
      {"--permits",
       [&](const auto& text) {
         wish.options.mode = rlock::Mode::one_permit_of(static_cast<unsigned>(std::stoi(text)));
       }},
      {"--one-of",
       [&](const auto& text) { wish.options.mode = rlock::Mode::one_of(parts_of(text)); }},
      {"--min-hold", [&](const auto& text) { wish.options.min_hold = duration_in(text); }},
      {"--max-waiters",
       [&](const auto& text) {
         wish.options.max_waiters = static_cast<unsigned>(std::stoi(text));
       }},
      {"--history", [&](const auto& text) { wish.options.history = duration_in(text); }},
      {"--slot", [&](const auto& text) { wish.slot = text; }},
      {"--retry", [&](const auto& text) { wish.retries = static_cast<unsigned>(std::stoi(text)); }},
  };
  for (int i = 1; i < argc; ++i) {
    const std::string word{argv[i]};
    if (word == "--") {
      wish.command.assign(argv + i + 1, argv + argc);
      break;
    }
    const auto known = with_value.find(word);
    if (known != with_value.end() && i + 1 < argc) {
      known->second(argv[++i]);
    } else if (word == "-q") {
      wish.quiet = true;
    } else if (word == "-n") {
      wish.waits = false;
    } else if (word == "-s" || word == "--shared") {
      wish.options.mode = rlock::Mode::shared();
    } else if (word == "--share") {
      wish.shares = true;
    } else {
      return std::nullopt;
    }
  }
  if (wish.keys.empty() || wish.command.empty()) return std::nullopt;
  return wish;
}

/// Ends by TERM or INT, as rlock does: they stop the wait, and reach the job.
class Signals {
 public:
  /// Blocks them; before any thread begins.
  Signals() {
    ::sigemptyset(&all_);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&all_, signal);
    ::pthread_sigmask(SIG_BLOCK, &all_, &before_);
    thread_ = std::jthread{[this](const std::stop_token& over) { take(over); }};
  }

  [[nodiscard]] std::stop_token stop() const { return stop_.get_token(); }
  [[nodiscard]] int received() const { return received_; }
  [[nodiscard]] const sigset_t& before() const { return before_; }
  void pass_on_to(pid_t job) { job_ = job; }

 private:
  void take(const std::stop_token& over) {
    const timespec soon{0, 20'000'000};
    while (!over.stop_requested()) {
      const int signal = ::sigtimedwait(&all_, nullptr, &soon);
      if (signal < 0) continue;
      if (signal != SIGHUP) received_ = signal;
      if (job_ > 0) ::kill(job_, signal);
      if (signal != SIGHUP) stop_.request_stop();
    }
  }

  sigset_t all_{};
  sigset_t before_{};
  std::stop_source stop_{};
  std::atomic<int> received_{0};
  std::atomic<pid_t> job_{0};
  std::jthread thread_{};
};

std::vector<std::string> environment_of(const Wish& wish, const rlock::Lock& lock) {
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) all.emplace_back(*each);
  const auto add = [&](const char* name, const std::string& value) {
    all.push_back(std::string{name} + "=" + value);
  };
  add("RLOCK_HELD", "1");
  add("RLOCK_TOKEN", lock.token());
  if (wish.keys.size() == 1) {
    add("RLOCK_KEY", wish.keys.front());
    add("RLOCK_FENCE", std::to_string(lock.fence()));
  } else {
    std::string lines;
    for (const auto& key : wish.keys) {
      if (!lines.empty()) lines += '\n';
      lines += key + "=" + std::to_string(lock.fence(key));
    }
    add("RLOCK_FENCES", lines);
  }
  if (lock.permit() > 0) add("RLOCK_PERMIT", std::to_string(lock.permit()));
  if (!lock.resource().empty()) add("RLOCK_RESOURCE", lock.resource());
  if (!wish.slot.empty()) {
    add("RLOCK_SLOT", wish.slot);
    add("RLOCK_ATTEMPT", std::to_string(lock.attempt()));
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (auto& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

/// Its exit code. The job is stopped once the lock is lost.
int run(Wish& wish, rlock::Lock& lock, Signals& signals) {
  auto environment = environment_of(wish, lock);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&attributes, &signals.before());
  pid_t job = 0;
  const auto arguments = pointers_to(wish.command);
  const auto variables = pointers_to(environment);
  const int error =
      ::posix_spawnp(&job, arguments[0], nullptr, &attributes, arguments.data(), variables.data());
  if (error != 0) return error == ENOENT ? by_signal - 1 : by_signal - 2;
  signals.pass_on_to(job);
  const auto stop_it = [job] { ::kill(job, SIGTERM); };
  const std::stop_callback stop{lock.lost(), stop_it};
  int status = 0;
  while (::waitpid(job, &status, 0) < 0) {
  }
  signals.pass_on_to(0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : by_signal + WTERMSIG(status);
}

int code_of(const Wish& wish, const rlock::Failure& failure, const Signals& signals) {
  using rlock::Reason;
  if (failure.reason == Reason::stopped) return by_signal + signals.received();
  if (!wish.quiet) std::cerr << "rlock: " << failure.text << std::endl;
  switch (failure.reason) {
    case Reason::busy:
    case Reason::timed_out:
    case Reason::dismissed:
    case Reason::crowded: return wish.exit_if_busy;
    case Reason::incompatible: return conflict;
    case Reason::misconfigured: return usage;
    default: return no_server;
  }
}

int code_after(const rlock::Lock& lock, int code) {
  const auto loss = lock.loss();
  if (!loss) return code;
  std::cerr << "rlock: " << loss->text << std::endl;
  return lost;
}

int run_for_slot(Wish& wish, const rlock::Server& server, Signals& signals) {
  std::string loss;
  const auto once = rlock::run_once(
      server, wish.keys.front(), wish.slot,
      [&](rlock::Lock& lock) { return run(wish, lock, signals); }, wish.options, wish.retries);
  if (once.failure) return code_of(wish, *once.failure, signals);
  if (once.kind == rlock::Once::Kind::open) {
    std::cerr << "rlock: " << once.why << std::endl;
    return lost;
  }
  if (once.kind == rlock::Once::Kind::ran) return once.code;
  if (!wish.quiet) {
    std::cerr << "rlock: '" << wish.keys.front() << "' is done for the slot '" << wish.slot
              << "': exit " << once.code << ", by another run" << std::endl;
  }
  return wish.shares ? once.code : 0;
}

}  // namespace

int main(int argc, char** argv) {
  auto wish = wish_in(argc, argv);
  const char* const url = std::getenv("RLOCK_SERVER");
  if (!wish || url == nullptr) {
    const auto program = std::filesystem::path{argv[0]}.parent_path() / "rlock";
    ::execv(program.c_str(), argv);
    return EXIT_FAILURE;
  }
  Signals signals;
  wish->options.stop = signals.stop();
  if (!wish->waits) wish->options.wait = 0ms;
  const auto log = [quiet = wish->quiet](const rlock::LogLine& line) {
    const bool tells_wait = line.text.find("waiting for") != std::string_view::npos;
    if (!quiet && tells_wait) std::cerr << line.text << std::endl;
  };
  const rlock::Server server{url, {.log = log}};
  if (!wish->slot.empty()) return run_for_slot(*wish, server, signals);
  auto lock = rlock::acquire(server, wish->keys, wish->options);
  if (!lock) return code_of(*wish, lock.failure(), signals);
  const int code = run(*wish, *lock, signals);
  const int told = code_after(*lock, code);
  lock->release();
  return told;
}
