// Shows that the double is a Redis: the same random acts on it and on a real one, and after each
// the same answer, the same clients woken with the same words, and the same keys.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "commands.hpp"
#include "real_redis.hpp"
#include "scripts.hpp"
#include "session.hpp"
#include "wire_cases.hpp"
#include "workload.hpp"

namespace sim {
namespace {

struct Difference : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Counts {
  std::size_t acts = 0;
  std::size_t scripts = 0;
  std::size_t granted = 0;
  std::size_t errors = 0;
  std::size_t woken = 0;
  std::size_t remainders = 0;
  std::size_t exact = 0;  // of these
};

const std::string& script_named(const std::string& name) {
  static const auto all = [] {
    std::map<std::string, std::string> bodies{
        {"pushes",
         "redis.call('RPUSH', KEYS[1], 'one')\nredis.call('LPUSH', KEYS[1], 'two')\n"
         "return redis.call('LRANGE', KEYS[1], 0, -1)"}};
    for (const auto& [each, script] : all_scripts()) bodies.emplace(each, script->body);
    return bodies;
  }();
  return all.at(name);
}

/// Whether both are the same number. A Redis later than 7.0 writes a score in the shortest way; 7.0
/// writes it with 17 digits.
bool same_number(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  char* end_of_a = nullptr;
  char* end_of_b = nullptr;
  const bool equal = std::strtod(a.c_str(), &end_of_a) == std::strtod(b.c_str(), &end_of_b);
  return equal && *end_of_a == '\0' && *end_of_b == '\0';
}

bool same(const Reply& a, const Reply& b) {
  return a.kind == b.kind && a.integer == b.integer &&
         (a.text == b.text || same_number(a.text, b.text)) &&
         std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                    same);
}

/// One sequence of acts, from two empty servers.
class Comparison {
 public:
  Comparison(const std::string& socket, std::shared_ptr<ScriptEngine> engine, std::uint64_t seed,
             Counts& counts)
      : counts_{counts},
        workload_{seed},
        chunks_{~seed},
        double_{std::move(engine)},
        real_{socket} {
    for (std::size_t i = 0; i < Workload::clients; ++i) {
      auto& there = there_.emplace_back(socket);
      ids_.push_back(there.ask({"CLIENT", "ID"}).integer);
      here_.push_back(std::make_unique<Session>(double_, i + 1));
    }
  }

  void run(std::size_t steps) {
    for (std::size_t i = 0; i < steps; ++i) {
      const Act act = workload_.next();
      history_.push_back(fmt::format("{:4} +{} us: {}", i, act.later, told(act)));
      if (history_.size() > 12) history_.pop_front();
      try {
        pass(act.later);
        perform(act);
      } catch (const std::runtime_error& error) {
        std::string text = error.what();
        for (const auto& line : history_) text += "\n    " + line;
        throw Difference{text};
      }
      ++counts_.acts;
    }
  }

 private:
  static std::string told(const Act& act) {
    switch (act.kind) {
      case Act::Kind::script: return act.script + ' ' + act.keys[0] + ' ' + shown(act.words);
      case Act::Kind::command: return shown(act.words);
      case Act::Kind::pop:
        return fmt::format("client {}: BLPOP {} {}", act.client, shown(act.keys), act.words[0]);
      case Act::Kind::flush_scripts: return "SCRIPT FLUSH";
      case Act::Kind::memory: return act.yes ? "out of memory" : "memory again";
    }
    return "";
  }

  void pass(Micros time) {
    now_ += time;
    Keyspace& keys = double_.keys(0, now_);
    // With 0 ms left the double has the key, and the real server cannot be given it. With few it
    // may end there before the act, because the real server's clock goes on.
    constexpr std::int64_t few_ms = 5;
    // Without memory no key has an end.
    const auto on_the_edge = [&] {
      if (poor_) return false;
      for (const auto& name : keys.names()) {
        const auto ends = keys.find(name)->ends_ms;
        if (ends && *ends - keys.now_ms() < few_ms) return true;
      }
      return false;
    };
    while (on_the_edge()) double_.keys(0, now_ += 1000);
    double_.tick(now_);
    for (const Answered& each : double_.take_answered()) {
      // The real one waits for longer; it is told to stop.
      real_.control().ask({"CLIENT", "UNBLOCK", std::to_string(ids_[each.client->id - 1])});
      same_answer(each);
    }
  }

  void perform(const Act& act) {
    switch (act.kind) {
      case Act::Kind::script: return run_script(act);
      case Act::Kind::command: return run_command(act);
      case Act::Kind::pop: return pop(act);
      case Act::Kind::flush_scripts: (void)on_double({"SCRIPT", "FLUSH"}); return;
      case Act::Kind::memory:
        // With ends there would have to be a write before the act, and what has begun to write goes
        // on.
        settle();
        poor_ = act.yes;
        real_.control().ask({"CONFIG", "SET", "maxmemory", act.yes ? "1" : "0"});
        double_.set_out_of_memory(act.yes);
        return;
    }
  }

  /// The time that has passed, for the real one.
  Step step() {
    Step step{now_, {}, {}};
    Keyspace& keys = double_.keys(0, now_);
    for (const auto& name : keys.names()) {
      const auto& ends = keys.find(name)->ends_ms;
      if (ends && poor_) keys.find(name)->ends_ms.reset();
      if (ends && !poor_) step.remainders.push_back({name, *ends - keys.now_ms()});
    }
    for (const auto& name : before_) {
      if (keys.find(name) == nullptr) step.gone.push_back(name);
    }
    return step;
  }

  Reply on_double(const Words& command) {
    // As a connection delivers it: in pieces.
    const std::string bytes = encode(command);
    Session& session = *control_;
    const auto cut = chunks_.number(bytes.size() + 1);
    session.receive(std::string_view{bytes}.substr(0, cut), now_);
    session.receive(std::string_view{bytes}.substr(cut), now_);
    RespReader reader;
    reader.feed(session.take_output());
    auto reply = reader.take_reply();
    if (!reply || !reader.empty()) throw Difference{"the double did not answer with one answer"};
    return *std::move(reply);
  }

  void run_script(const Act& act) {
    const std::string& body = script_named(act.script);
    const Step now = step();
    Words command{"EVALSHA", sha1(body), std::to_string(act.keys.size())};
    command.insert(command.end(), act.keys.begin(), act.keys.end());
    command.insert(command.end(), act.words.begin(), act.words.end());
    Reply ours = on_double(command);
    if (ours.text.starts_with("NOSCRIPT")) {
      command[0] = "EVAL";
      command[1] = body;
      ours = on_double(command);
    }
    // Where in a script it happened: there it is in another one, around it.
    if (ours.is_error()) ours.text = ours.text.substr(0, ours.text.find(" script: "));
    const StepResult theirs = real_.run(body, act.keys, act.words, now);
    ++counts_.scripts;
    if (!ours.elements.empty() && ours.elements[0].text == "granted") ++counts_.granted;
    same_reply(ours, theirs);
    same_afterwards(theirs);
    workload_.learn(ours);
  }

  void run_command(const Act& act) {
    const Step now = step();
    const Reply ours = on_double(act.words);
    const StepResult theirs = real_.execute(act.words, now);
    if (act.words[0] == "PTTL") {
      same_remainder(ours, theirs.reply, theirs.elapsed_us);
    } else {
      same_reply(ours, theirs);
    }
    same_afterwards(theirs);
  }

  /// Nothing happens but the passing of time.
  void settle() {
    const Step now = step();
    same_afterwards(real_.run("return 1", {}, {}, now));
    (void)step();
  }

  void pop(const Act& act) {
    Session& here = *here_[act.client];
    if (here.client().waits) return;
    settle();
    Words command{"BLPOP"};
    // Of several keys a later version takes another first.
    command.insert(command.end(), act.keys.begin(),
                   as_7_0_ ? act.keys.end() : act.keys.begin() + 1);
    command.push_back(act.words[0]);
    here.receive(encode(command), now_);
    command.back() = "0";
    there_[act.client].send(command);
    if (here.client().waits) {
      await_blocked();
    } else {
      RespReader reader;
      reader.feed(here.take_output());
      const Reply ours = *reader.take_reply();
      const Reply theirs = there_[act.client].receive();
      if (ours != theirs) differ("BLPOP", ours, theirs);
    }
    settle();
  }

  void await_blocked() {
    std::size_t expected = 0;
    for (const auto& each : here_) expected += each->client().waits ? 1U : 0U;
    const std::string line = fmt::format("blocked_clients:{}\r\n", expected);
    for (int i = 0; i < 10'000; ++i) {
      const Reply info = real_.control().ask({"INFO", "clients"});
      if (info.text.find(line) != std::string::npos) return;
      for (std::size_t k = 0; k < there_.size(); ++k) {
        if (there_[k].has_input()) differ("a client blocks", Reply::nil(), there_[k].receive());
      }
    }
    throw Difference{"the real server does not block"};
  }

  void same_afterwards(StepResult theirs) {
    const auto answered = double_.take_answered();
    for (const Answered& each : answered) {
      ++counts_.woken;
      same_answer(each);
    }
    // They are written before the next answer of the same server.
    for (auto& there : there_) {
      if (there.has_input()) differ("a client is woken", Reply::nil(), there.receive());
    }
    if (!answered.empty()) theirs = after_the_pops(std::move(theirs));
    Keyspace& keys = double_.keys(0, now_);
    same_keys(sim::dump(keys), theirs);
    before_ = keys.names();
  }

  /// The step read the keys before a client popped from them, so read them again. Only the first
  /// look has the times that were left.
  StepResult after_the_pops(StepResult theirs) {
    StepResult again = real_.run("return 1", {}, {}, Step{now_, {}, {}});
    for (Reply& key : again.dump.elements) {
      for (const Reply& before : theirs.dump.elements) {
        if (before.elements[0] == key.elements[0]) key.elements[2] = before.elements[2];
      }
    }
    theirs.dump = std::move(again.dump);
    return theirs;
  }

  void same_answer(const Answered& each) {
    const auto which = each.client->id - 1;
    here_[which]->answer(each.reply, now_);
    (void)here_[which]->take_output();
    const Reply theirs = there_[which].receive();
    if (each.reply != theirs) differ("what a client was woken with", each.reply, theirs);
  }

  void same_keys(const Reply& ours, const StepResult& theirs) {
    bool equal = ours.elements.size() == theirs.dump.elements.size();
    for (std::size_t i = 0; equal && i < ours.elements.size(); ++i) {
      const auto& a = ours.elements[i].elements;
      const auto& b = theirs.dump.elements[i].elements;
      equal = a[0] == b[0] && a[1].text == b[1].text && same(a[3], b[3]);
      if (equal) same_remainder(a[2], b[2], theirs.elapsed_us);
    }
    if (!equal) differ("the keys", ours, theirs.dump);
  }

  void same_reply(const Reply& ours, const StepResult& theirs) {
    if (ours.is_error()) ++counts_.errors;
    if (!same_but_for_time(ours, theirs.reply, theirs.elapsed_us)) {
      differ("the answer", ours, theirs.reply);
    }
  }

  /// The result of PTTL follows a name.
  bool same_but_for_time(const Reply& ours, const Reply& theirs, std::int64_t elapsed_us) {
    if (ours.elements.empty()) return same(ours, theirs);
    if (ours.kind != theirs.kind || ours.elements.size() != theirs.elements.size()) return false;
    for (std::size_t i = 0; i < ours.elements.size(); ++i) {
      const Reply& a = ours.elements[i];
      const Reply& b = theirs.elements[i];
      const std::string before = i > 0 ? ours.elements[i - 1].text : "";
      const bool may_be_off = before == "left" || before == "look_in";
      if (may_be_off && a.kind == Reply::Kind::integer) {
        same_remainder(a, b, elapsed_us);
      } else if (!same_but_for_time(a, b, elapsed_us)) {
        return false;
      }
    }
    return true;
  }

  /// Time goes on in the real one while it works, so there less may be left.
  void same_remainder(const Reply& ours, const Reply& theirs, std::int64_t elapsed_us) {
    // Lua's number for it is a double.
    const bool rounded = ours.integer > std::int64_t{1} << 53;
    const auto most = ours.integer + (rounded ? 16 : 0);
    // Keep -1 and -2, which are not lengths. From 1 on, what is left may go down to 0.
    const auto least =
        most <= 0 ? most : std::max<std::int64_t>(0, most - elapsed_us / 1000 - (rounded ? 33 : 1));
    if (theirs.kind != ours.kind || theirs.integer > most || theirs.integer < least) {
      differ(fmt::format("what is left, with {} us of tolerance", elapsed_us).c_str(), ours,
             theirs);
    }
    ++counts_.remainders;
    counts_.exact += theirs.integer == most ? 1 : 0;
  }

  [[noreturn]] static void differ(const char* what, const Reply& ours, const Reply& theirs) {
    throw Difference{
        fmt::format("{}:\n  double: {}\n  real:   {}", what, shown(ours), shown(theirs))};
  }

  Counts& counts_;
  Workload workload_;
  Random chunks_;
  RedisDouble double_;
  RealRedis real_;
  bool as_7_0_ = real_.is_7_0();
  std::unique_ptr<Session> control_ = std::make_unique<Session>(double_, 100);
  std::vector<std::unique_ptr<Session>> here_;  // clients of the double, and
  std::vector<RealConnection> there_;           // the same of the real one,
  std::vector<std::int64_t> ids_;               // where they have these names
  Words before_;                                // keys after the last act
  Micros now_ = 1'700'000'000'123'456;
  bool poor_ = false;
  std::deque<std::string> history_;
};

struct Options {
  std::string socket;
  std::uint64_t seed = 1;
  std::uint64_t seeds = 100;
  std::size_t steps = 200;
};

std::optional<Options> options_in(int count, char** words) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = words[i];
    const std::string value = words[i + 1];
    const auto number = integer_in(value);
    if (name == "--socket") {
      options.socket = value;
    } else if (!number || *number < 0) {
      return std::nullopt;
    } else if (name == "--seed") {
      options.seed = static_cast<std::uint64_t>(*number);
    } else if (name == "--seeds") {
      options.seeds = static_cast<std::uint64_t>(*number);
    } else if (name == "--steps") {
      options.steps = static_cast<std::size_t>(*number);
    } else {
      return std::nullopt;
    }
  }
  return count % 2 == 1 && !options.socket.empty() ? std::optional{options} : std::nullopt;
}

int compare(const Options& options) {
  const auto engine = std::make_shared<ScriptEngine>();
  Counts counts;
  const auto began = std::chrono::steady_clock::now();
  std::size_t failed = compare_wire_cases(options.socket, engine);
  for (auto seed = options.seed; seed < options.seed + options.seeds; ++seed) {
    try {
      Comparison{options.socket, engine, seed, counts}.run(options.steps);
    } catch (const std::runtime_error& error) {
      fmt::print("seed {} differs: {}\n  again: --seed {} --seeds 1 --steps {}\n", seed,
                 error.what(), seed, options.steps);
      if (++failed >= 3) break;
    }
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  fmt::print(
      "{} sequences, {} acts, {} scripts ({} granted), {} errors, {} clients woken, "
      "{:.1f} s, {:.0f} scripts a second\n",
      options.seeds, counts.acts, counts.scripts, counts.granted, counts.errors, counts.woken,
      seconds, static_cast<double>(counts.scripts) / seconds);
  fmt::print("{} of {} remainders equal to the millisecond\n", counts.exact, counts.remainders);
  // The rest are late by what the real one took. Were the double a millisecond wrong, all would be.
  if (counts.exact * 2 < counts.remainders) ++failed;
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace sim

int main(int count, char** words) {
  const auto options = sim::options_in(count, words);
  if (!options) {
    fmt::print(stderr, "usage: {} --socket PATH [--seed N] [--seeds N] [--steps N]\n", words[0]);
    return 64;
  }
  try {
    return sim::compare(*options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 70;
  }
}
