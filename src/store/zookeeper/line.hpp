// Who stands in line for one lock: the nodes below its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/names.hpp"
#include "store/zookeeper/ensemble.hpp"

namespace store::zookeeper {

/// A node such as `x-<40 hex digits>-0000000007`: x alone, s together with other readers; the
/// digits are the end of the token, by which a node is found whose making was never confirmed. Any
/// other sequential node counts as x.
struct Contender {
  std::string name;
  bool shared;
  std::int64_t number;  // in the order of arrival
};
using Line = std::vector<Contender>;

/// In the order of arrival, without what is no contender.
Line line_of(const std::vector<std::string>& children);
/// Where the token's node stands.
std::optional<std::size_t> place_of(const Line& line, const Token& token);
/// Whom the one at `place` has to wait for: the nearest writer before a reader, the one right
/// before a writer. Nothing: it holds the lock.
std::optional<std::size_t> blocker_of(const Line& line, std::size_t place);
/// So many, from the front, hold it.
std::size_t holders_in(const Line& line);

/// What the sequential node of a claim is to be called, without its number.
std::string prefix_of(const Token& token, bool shared);
/// The lock's own node.
std::string path_of(const ZooKeeper& ensemble, const LockName& name);

/// What a holder makes for a moment when its node was taken away and its job has stopped.
std::string last_word_of(const ZooKeeper& ensemble, const Token& token);

/// A node's data is the token, and behind a newline what its owner is asked for.
struct Message {
  Token token;
  std::optional<std::string> stop;  // and why
};
Message message_in(const std::string& data);
std::string data_of(const Token& token, const std::string& stop);

}  // namespace store::zookeeper
