// A round as one transaction of etcd, and its answer. No socket.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/etcd/text.hpp"
#include "store/sessions/session.hpp"

namespace store::etcd {

/// The session as it asks.
struct Asker {
  std::int64_t lease = 0;        // 0: none; no step creates a node of the session then
  std::int64_t now_ms = 0;       // since 1970, by our clock
  std::int64_t other_lease = 0;  // of the nodes that are to last for a time of their own
};

/// A round in parts that each fit into a transaction: the change is in the first.
struct Parts {
  static constexpr std::size_t most_reads = 48;
  static constexpr std::size_t most_leftovers = 32;
  std::vector<sessions::Round> rounds;
};
Parts parts_of(const sessions::Round& round);

/// Beyond so many children of a node they are not read.
inline constexpr std::int64_t most_children = 50'000;

/// The body of the question: compares, puts and deletes, and behind these the reads, which are the
/// same if the compares fail; before them there are then the keys of all steps.
std::string question_of(const sessions::Round& round, const Asker& asker);

struct TransactionAnswer {
  sessions::Answers answers;
  std::uint64_t revision = 0;  // of the store, right after the change
  std::int64_t term = 0;       // of the member's leader
};
/// Whether the same question was asked before, and its answer lost.
enum class Asked { once, again };
/// Nothing if the answer makes no sense. If the question was asked before, a change that is found
/// to be made already is committed. So is a deletion that another client made in between.
std::optional<TransactionAnswer> answer_in(const Json& json, const sessions::Round& round,
                                           const Asker& asker, Asked asked = Asked::once);

/// The answers if the question had none: the change is rejected, with the step `at` if that is
/// known.
sessions::Answers without_answer(const sessions::Round& round, const Fault& fault,
                                 std::optional<std::size_t> at = std::nullopt);

/// Whether a step creates a node that ends with the session.
bool needs_lease(const sessions::Transaction& change);
/// The longest time that a step gives to a node; nothing: none does.
std::optional<Millis> longest_in(const sessions::Transaction& change);
/// The first step that writes a text which nothing depends on but memory; nothing: none does.
std::optional<std::size_t> first_lasting(const sessions::Transaction& change);

}  // namespace store::etcd
