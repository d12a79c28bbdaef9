#include "store/zookeeper/zookeeper.hpp"

#include <fmt/format.h>

#include "store/sessions/store.hpp"
#include "store/zookeeper/client.hpp"

namespace store::zookeeper {
namespace {

// Long enough to look and to act.
constexpr Millis session_length{10'000};

sessions::OpenSession opener_of(const ZooKeeper& ensemble) {
  return [ensemble](Ttl ttl, const CallLimit& limit) -> Result<std::shared_ptr<sessions::Session>> {
    auto opened = Client::open(ensemble, session_for(ttl), limit);
    if (!opened) return std::move(opened).error();
    return std::shared_ptr<sessions::Session>{*std::move(opened)};
  };
}

}  // namespace

const char* unavailable() {
  return nullptr;
}

std::unique_ptr<LockStore> open_store(const ZooKeeper& ensemble) {
  return sessions::open_store(opener_of(ensemble));
}

std::unique_ptr<LockAdmin> open_admin(const ZooKeeper& ensemble) {
  return sessions::open_admin(opener_of(ensemble));
}

Findings examine(const ZooKeeper& ensemble, const LockName& name, const CallLimit& limit) {
  using Verdict = Finding::Verdict;
  Findings findings;
  auto opened = Client::open(ensemble, session_length, for_the_first_answer(limit));
  if (!opened) {
    return {{Verdict::fail, "reachable", opened.error().why,
             opened.error().kind == Fault::Kind::denied
                 ? "check user and password"
                 : "check the URL, the network, and the servers"}};
  }
  const Client& session = **opened;
  findings.push_back({Verdict::ok, "reachable", ensemble.hosts, ""});
  const bool as_wanted = session.timeout() == session_length;
  findings.push_back(
      {as_wanted ? Verdict::ok : Verdict::warn, "sessions",
       fmt::format("asked for {} ms, got {} ms", session_length.count(), session.timeout().count()),
       as_wanted ? "" : "leases are cut to minSessionTimeout and maxSessionTimeout"});
  const auto advice = [](const Fault&) {
    return "rlock needs the rights to create, read, write and delete below the path";
  };
  findings.push_back(try_locking(*open_store(ensemble), name, advice, limit));
  return findings;
}

}  // namespace store::zookeeper
