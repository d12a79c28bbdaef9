// Whether the servers of a quorum are several, fit, and agree on the time.
#include <doctest/doctest.h>

#include <algorithm>

#include "fake_quorum.hpp"
#include "store/quorum/quorum.hpp"

namespace unit::quorum_examine {

using namespace store;
using namespace fake_quorum;

TEST_CASE("a server that is named twice does not count twice") {
  for (const auto& [first, second] : {std::pair{0u, 1u}, {0u, 2u}, {1u, 2u}}) {
    Fleet fleet{3};
    std::vector<std::unique_ptr<QuorumNode>> nodes;
    for (unsigned i = 0; i < 3; ++i) {
      nodes.push_back(std::make_unique<Node>(fleet.servers[i == second ? first : i]));
    }
    // So that it takes both names for a majority.
    fleet.servers[3 - first - second].state = Server::State::refusing;
    const auto store = quorum::open_store(std::move(nodes));
    const auto attempt = store->try_acquire(claim_of("one"), within(2'000));
    const auto* fault = std::get_if<Fault>(&attempt);
    REQUIRE(fault != nullptr);
    CHECK(fault->kind == Fault::Kind::misconfigured);
    CHECK(fault->why.find(std::to_string(first + 1) + " and " + std::to_string(second + 1)) !=
          std::string::npos);
    for (const auto& server : fleet.servers) CHECK_FALSE(server.owner);
  }
}

TEST_CASE("an examination finds servers that are the same one") {
  Fleet fleet{3};
  std::vector<std::unique_ptr<QuorumNode>> nodes;
  for (const std::size_t i : {0u, 1u, 0u}) {
    nodes.push_back(std::make_unique<Node>(fleet.servers[i]));
  }
  const auto fit = [](std::size_t, const CallLimit&) {
    return Findings{{Finding::Verdict::ok, "eviction", "", ""}};
  };
  auto findings = quorum::examine(std::move(nodes), fit, key, within(2'000));
  const auto about = [&](const char* subject) {
    const auto found = std::find_if(findings.begin(), findings.end(),
                                    [&](const Finding& each) { return each.subject == subject; });
    REQUIRE(found != findings.end());
    return *found;
  };
  CHECK(about("majority").verdict == Finding::Verdict::ok);
  CHECK(about("distinct").verdict == Finding::Verdict::fail);
  CHECK(about("distinct").seen == "1 and 3 are the same server");
  CHECK(about("3 eviction").verdict == Finding::Verdict::ok);
  CHECK_FALSE(fleet.servers[0].owner);
}

TEST_CASE("an examination measures how far the clocks are apart, and counts the unfit") {
  Fleet fleet{3};
  fleet.servers[2].clock = 700'000;
  const auto examine = [&](const std::vector<Finding::Verdict>& verdicts) {
    std::vector<std::unique_ptr<QuorumNode>> nodes;
    for (auto& server : fleet.servers) nodes.push_back(std::make_unique<Node>(server));
    const auto each = [&](std::size_t node, const CallLimit&) {
      return Findings{{verdicts[node], "eviction", "", ""}};
    };
    return quorum::examine(std::move(nodes), each, key, within(2'000));
  };
  using Verdict = Finding::Verdict;
  auto findings = examine({Verdict::ok, Verdict::fail, Verdict::ok});
  REQUIRE(findings.size() == 6);
  CHECK(findings[0].verdict == Verdict::warn);
  CHECK(findings[0].seen == "2 of 3 servers are fit");
  CHECK(findings[1].verdict == Verdict::ok);
  CHECK(findings[2].verdict == Verdict::warn);
  CHECK(findings[2].seen == "the servers agree within 700 ms");
  CHECK(findings[4].verdict == Verdict::warn);  // one may fail

  findings = examine({Verdict::fail, Verdict::fail, Verdict::ok});
  CHECK(findings[0].verdict == Verdict::fail);

  // A lock that is held is not disturbed, and says nothing about the servers.
  const auto holder = claim_of("holder");
  for (auto& server : fleet.servers) server.owner = holder.token;
  findings = examine({Verdict::ok, Verdict::ok, Verdict::ok});
  CHECK(findings[1].verdict == Verdict::unknown);
  CHECK(findings[2].verdict == Verdict::unknown);
  for (const auto& server : fleet.servers) CHECK(server.owner == holder.token);
}

}  // namespace unit::quorum_examine
