// Whether what a server remembers of the runs is what became of them.
#include <fmt/format.h>

#include <algorithm>

#include "judge.hpp"
#include "scripts.hpp"
#include "store/rules/runs.hpp"

namespace sim {
namespace {

// As many as are kept, and the fields of a line without and with an end.
constexpr std::size_t remembered = store::rules::remembered_runs;
constexpr std::ptrdiff_t tabs_of_open_line = 5;
constexpr std::ptrdiff_t tabs_of_ended_line = 8;

std::string token_in(const std::string& line) {
  const auto first = line.find('\t');
  return line.substr(first + 1, line.find('\t', first + 1) - first - 1);
}

}  // namespace

/// Also where the lease ended on the way there: the run has ended all the same.
void Judge::note_end(Lock& lock, const Words& words) const {
  if (plan_.history.count() == 0) return;
  const std::string token = token_of(named(words, "id"));
  if (!lock.fences.contains(token)) return;
  if (named(words, "how") == "cancel") {
    lock.cancelled.insert(token);
  } else {
    (named(words, "run_end").empty() ? lock.never_ran : lock.ended).insert(token);
  }
}

void Judge::see_memory() {
  using Kind = Incident::Kind;
  const bool may_forget = plan_.has(Kind::restart_without_data) || plan_.has(Kind::out_of_memory) ||
                          plan_.has(Kind::step_clock) || plan_.has(Kind::drift);
  // Of several servers one may have missed a lot.
  if (plan_.history.count() == 0 || plan_.servers > 1 || may_forget) return;
  for (auto& [where, lock] : locks_) {
    Server& server = world_.server(where.first);
    Keyspace& keys = server.redis.keys(0, world_.clock(server));
    const std::string name = "{" + where.second + "}:rlock:runs";
    const auto found = find<List>(keys, name);
    if (found.content != nullptr && !keys.find(name)->ends_ms) {
      throw Violation{"the memory of runs has no end"};
    }
    see_memory(where.second, lock, found.content == nullptr ? List{} : *found.content);
  }
}

void Judge::see_memory(const std::string& key, const Lock& lock, const List& lines) const {
  if (lines.size() > remembered) throw Violation{fmt::format("{} runs of {}", lines.size(), key)};
  std::set<std::string> seen;
  store::Fence before = 0;
  for (const std::string& line : lines) {
    const std::string token = token_in(line);
    if (lock.unheard.contains(token)) {
      seen.insert(token);
      continue;
    }
    const auto fence = lock.fences.find(token);
    if (fence == lock.fences.end() || !seen.insert(token).second) {
      throw Violation{"a run is remembered that never was, or twice: " + line};
    }
    if (!line.starts_with(std::to_string(fence->second) + '\t') ||
        (before != 0 && fence->second > before)) {
      throw Violation{"a run is remembered with another fence, or out of order: " + line};
    }
    before = fence->second;
    const auto tabs = std::count(line.begin(), line.end(), '\t');
    const bool has_end = tabs == tabs_of_ended_line;
    if (!has_end && tabs != tabs_of_open_line) throw Violation{"a line of a run: " + line};
    // An operator took it away before it was given back.
    const bool taken = has_end && forced_.contains(token);
    if (lock.never_ran.contains(token) && !taken)
      throw Violation{"a run is remembered that was none: " + line};
    const bool ended = lock.ended.contains(token);
    const bool either = lock.cancelled.contains(token) || forced_.contains(token);
    if (has_end != ended && !(has_end && either)) {
      throw Violation{fmt::format("a run that {} is remembered otherwise: {}",
                                  ended ? "ended" : "was lost", line)};
    }
  }
  for (const auto& [token, fence] : lock.fences) {
    const bool gone = lock.never_ran.contains(token) || lock.cancelled.contains(token);
    if (!gone && !seen.contains(token) && lock.fences.size() <= remembered) {
      throw Violation{fmt::format("a run of {} is forgotten: {}", key, token)};
    }
  }
}

}  // namespace sim
