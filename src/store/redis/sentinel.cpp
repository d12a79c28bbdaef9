#include "store/redis/sentinel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.hpp"
#include "store/fan_out.hpp"

namespace store::redis {
namespace {

using Tcp = RedisServer::Tcp;

// For the first sentinel alone: many round trips in a data centre, but short for a user.
constexpr Millis alone{150};
// The time for all sentinels during a refresh, which has a third of the lease.
constexpr Millis for_a_second_opinion{300};

Result<Tcp> ask_for_master(const Tcp& sentinel, const std::string& name,
                           const RedisServer::Access& access, const CallLimit& limit) {
  auto opened = Connection::open(sentinel, access, limit);
  if (!opened) return on_the_way(sentinel, std::move(opened).error());
  auto answer = opened->ask({"SENTINEL", "get-master-addr-by-name", name}, limit);
  if (!answer) return on_the_way(sentinel, std::move(answer).error());
  const Reply& reply = *answer;
  if (reply.size() != 2) {
    return named(sentinel, {Fault::Kind::unavailable,
                            fmt::format("knows no master '{}'", base::printable(name))});
  }
  return Tcp{std::string{reply[0].text()}, std::string{reply[1].text()}};
}

/// If the server permits neither question, accept it: a replica refuses writes anyway.
Result<base::Done> must_be_master(Connection& server, const CallLimit& limit) {
  auto answer = server.ask({"ROLE"}, limit);
  bool is_master = answer && (*answer)[0].text() == "master";
  if (!answer && refuses_command(answer.error())) {
    answer = server.ask({"INFO", "replication"}, limit);
    if (!answer && refuses_command(answer.error())) return base::Done{};
    is_master = answer && answer->text().find("role:master") != std::string_view::npos;
  }
  if (!answer) return std::move(answer).error();
  if (is_master) return base::Done{};
  return Fault{Fault::Kind::unavailable, "is named as the master, but is not one (yet)"};
}

/// Asks all sentinels for their master at once.
FanOut<Result<Tcp>> ask_all(const RedisServer::Sentinels& sentinels,
                            const RedisServer::Access& access, const CallLimit& limit) {
  std::vector<std::size_t> all(sentinels.nodes.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return {all, all.size(),
          [&sentinels, access](std::size_t node, const CallLimit& share) {
            return ask_for_master(sentinels.nodes[node], sentinels.master, access, share);
          },
          limit};
}

/// The master named by most answers, and their number; the first one if several tie.
std::pair<std::optional<Tcp>, std::size_t> most_named(const Answers<Result<Tcp>>& answers) {
  std::pair<std::optional<Tcp>, std::size_t> most{std::nullopt, 0};
  for (const auto& candidate : answers) {
    if (!candidate || !*candidate) continue;
    const auto times = static_cast<std::size_t>(std::count_if(
        answers.begin(), answers.end(),
        [&](const auto& other) { return other && *other && **other == **candidate; }));
    if (times > most.second) most = {**candidate, times};
  }
  return most;
}

}  // namespace

Result<Connection> MasterFinder::open_checked(const Tcp& master, const RedisServer::Access& access,
                                              const CallLimit& limit) {
  auto opened = Connection::open(master, access, limit);
  if (!opened) return on_the_way(master, std::move(opened).error());
  auto is_master = must_be_master(*opened, limit);
  if (!is_master) return on_the_way(master, std::move(is_master).error());
  current_ = master;
  return opened;
}

Result<Connection> MasterFinder::open(const RedisServer::Access& access, const CallLimit& limit) {
  const RedisServer::Access to_sentinel{sentinels_.login, 0, access.tls};
  const auto half = [&] {  // so that a silent one leaves time for another
    const auto now = base::now();
    return limit.at_most(Deadline::after(now, limit.until.left(now) / 2));
  };
  if (const auto expected = std::exchange(expected_, std::nullopt)) {
    if (auto opened = open_checked(*expected, access, half())) return opened;
  }
  const Tcp& first = sentinels_.nodes.front();
  const bool only = sentinels_.nodes.size() == 1;
  const auto moment = only ? limit : limit.at_most(Deadline::after(base::now(), alone));
  auto told = ask_for_master(first, sentinels_.master, to_sentinel, moment);
  Fault trouble{Fault::Kind::unreachable, "no sentinel"};
  std::vector<Tcp> tried;
  if (told) {
    tried.push_back(*told);
    auto opened = open_checked(*told, access, only ? limit : half());
    // If the master itself denies access, no other sentinel can help.
    if (opened || only || opened.error().kind == Fault::Kind::denied) return opened;
    trouble = std::move(opened).error();
  } else if (only) {
    return std::move(told).error();
  }

  auto asked = ask_all(sentinels_, to_sentinel, limit);
  std::vector<bool> heard(sentinels_.nodes.size());
  const auto unheard = [&](const Answers<Result<Tcp>>& answers) {
    std::size_t node = 0;
    while (node < answers.size() && (!answers[node] || heard[node])) ++node;
    return node;
  };
  for (;;) {
    const auto& answers = asked.wait([&](const auto& all) { return unheard(all) < all.size(); });
    const auto node = unheard(answers);
    if (node == answers.size()) return trouble;
    heard[node] = true;
    const Result<Tcp>& master = *answers[node];
    if (!master) {
      if (tried.empty()) trouble = master.error();
      continue;
    }
    if (std::find(tried.begin(), tried.end(), *master) != tried.end()) continue;
    tried.push_back(*master);
    auto opened = open_checked(*master, access, half());
    if (opened || opened.error().kind == Fault::Kind::denied) return opened;
    trouble = std::move(opened).error();
  }
}

bool MasterFinder::replaced(const RedisServer::Access& access, const CallLimit& limit) {
  if (!current_) return false;
  const RedisServer::Access to_sentinel{sentinels_.login, 0, access.tls};
  const auto now = base::now();
  const auto longest = std::min(for_a_second_opinion, limit.until.left(now) / 4);
  auto asked = ask_all(sentinels_, to_sentinel, limit.at_most(Deadline::after(now, longest)));
  const auto& answers =
      asked.wait([&](const auto& all) { return 2 * most_named(all).second > all.size(); });
  const auto [master, times] = most_named(answers);
  const auto ours =
      static_cast<std::size_t>(std::count_if(answers.begin(), answers.end(), [&](const auto& each) {
        return each && *each && **each == *current_;
      }));
  if (!master || *master == *current_ || times <= ours) return false;
  expected_ = master;
  return true;
}

}  // namespace store::redis
