// Examines whether an ensemble is fit to hold locks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/duration.hpp"
#include "base/text.hpp"
#include "os/net.hpp"
#include "os/poll.hpp"
#include "store/zookeeper/client.hpp"
#include "store/zookeeper/zookeeper.hpp"

namespace store::zookeeper {
namespace {

using Verdict = Finding::Verdict;

// Long enough to look and to act.
constexpr Millis session_length{10'000};
// Longer than any ensemble allows.
constexpr Millis too_long{24 * 3'600'000};
// Of an answer to srvr, which has some 200 bytes.
constexpr std::size_t longest_answer = 4096;
// Container nodes came with 3.5, and work since 3.5.3.
constexpr std::array<int, 3> oldest_version{3, 5, 3};
const Ttl usual_ttl = *Ttl::from(Millis{30'000});

/// The answer to one of ZooKeeper's commands of four letters, as far as it arrives.
std::string answer_to(std::string_view command, const HostPort& server, const CallLimit& limit) {
  std::string answer;
  const auto socket = os::connect_tcp(server.host, server.port, limit);
  if (!socket || !os::send(socket->number(), command)) return answer;
  while (answer.size() < longest_answer &&
         os::wait_for(socket->number(), os::Want::read, limit) == os::Ready::yes &&
         os::receive(socket->number(), answer, longest_answer)) {
  }
  return answer;
}

/// The rest of the line that begins with `name`.
std::string_view value_in(std::string_view answer, std::string_view name) {
  for (std::size_t at = 0; at < answer.size();) {
    const auto end = std::min(answer.find('\n', at), answer.size());
    const auto line = answer.substr(at, end - at);
    if (line.starts_with(name)) return line.substr(name.size());
    at = end + 1;
  }
  return {};
}

bool is_too_old(std::string_view version) {
  std::array<int, 3> numbers{};
  const char* at = version.data();
  const char* const end = version.data() + version.size();
  for (int& each : numbers) {
    const auto [stop, error] = std::from_chars(at, end, each);
    if (error != std::errc{}) return false;  // unknown
    at = stop == end ? end : stop + 1;
  }
  return numbers < oldest_version;
}

/// The servers, each with its part in the ensemble and its version.
Findings servers(const ZooKeeper& ensemble, const CallLimit& limit) {
  const auto hosts = hosts_in(ensemble.hosts, "");
  if (!hosts) return {};
  std::string seen;
  std::string version;
  std::string old;
  std::size_t absent = 0;
  for (const HostPort& each : *hosts) {
    const std::string answer = answer_to("srvr", each, for_the_first_answer(limit));
    const auto mode = value_in(answer, "Mode: ");
    if (mode.empty()) ++absent;
    const auto text = value_in(answer, "Zookeeper version: ");
    const auto number = text.substr(0, std::min(text.find('-'), text.find(',')));
    if (version.empty()) version = number;
    if (is_too_old(number)) old = number;
    constexpr std::size_t most = 100;
    seen += fmt::format("{}{}:{} {}", seen.empty() ? "" : ", ", each.host, each.port,
                        !mode.empty()    ? base::printable(mode, most)
                        : answer.empty() ? "does not answer"
                                         : "sees no majority");
  }
  Findings findings;
  if (absent > 0) {
    findings.push_back({Verdict::warn, "servers", seen,
                        "more than half of an ensemble must run: look after these"});
  } else {
    findings.push_back({Verdict::ok, "servers", seen, ""});
  }
  if (!old.empty()) {
    findings.push_back({Verdict::fail, "version", base::printable(old),
                        "rlock needs container nodes: ZooKeeper 3.5.3 or newer"});
  } else if (!version.empty()) {
    findings.push_back({Verdict::ok, "version", base::printable(version), ""});
  }
  return findings;
}

/// The longest session that the ensemble agrees to, and the lease within it.
Finding sessions_of(const ZooKeeper& ensemble, const CallLimit& limit) {
  const auto longest = Client::open(ensemble, too_long, limit);
  if (!longest) return {Verdict::unknown, "sessions", longest.error().why, ""};
  const Millis session = (*longest)->timeout();
  const Ttl lease = lease_within(session, *Ttl::from(Ttl::longest));
  const auto seen =
      fmt::format("maxSessionTimeout allows leases of {}", base::format_duration(lease.length()));
  if (lease.length() * 2 >= usual_ttl.length()) return {Verdict::ok, "sessions", seen, ""};
  return {Verdict::warn, "sessions", seen,
          "a longer --ttl is cut to that: raise maxSessionTimeout"};
}

Finding access(const ZooKeeper& ensemble, Client& session, const CallLimit& limit) {
  constexpr const char* subject = "access";
  const auto open = session.anyone_may_write(limit);
  if (!open) return {Verdict::unknown, subject, open.error().why, ""};
  if (!*open) return {Verdict::ok, subject, "only some users may write to " + ensemble.base, ""};
  if (ensemble.user.empty()) {
    return {Verdict::ok, subject, "every client that reaches the servers may change locks", ""};
  }
  return {Verdict::ok, subject,
          fmt::format("everybody may write to {}, the nodes of locks are of user {} only",
                      ensemble.base, base::printable(ensemble.user)),
          ""};
}

}  // namespace

Findings examine(const ZooKeeper& ensemble, const LockName& name, const CallLimit& limit) {
  auto opened = Client::open(ensemble, session_length, for_the_first_answer(limit));
  if (!opened) {
    return {{Verdict::fail, "reachable", opened.error().why,
             opened.error().kind == Fault::Kind::denied
                 ? "check user and password"
                 : "check the URL, the network, and the servers"}};
  }
  Findings findings{{Verdict::ok, "reachable", ensemble.hosts, ""}};
  for (Finding& each : servers(ensemble, limit)) findings.push_back(std::move(each));
  findings.push_back(sessions_of(ensemble, limit));
  findings.push_back(access(ensemble, **opened, limit));
  const auto advice = [](const Fault&) {
    return "rlock needs the rights to create, read, write and delete below the path";
  };
  findings.push_back(try_locking(*open_store(ensemble), name, advice, limit));
  return findings;
}

}  // namespace store::zookeeper
