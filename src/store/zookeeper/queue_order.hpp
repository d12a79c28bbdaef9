// The order of those who want one lock, read from the names of the nodes below the lock's own: who
// holds it, and whom does a waiter wait for? No socket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/names.hpp"
#include "store/zookeeper/ensemble.hpp"

namespace store::zookeeper {

/// A node such as `x-<40 hex digits>-0000000007`: x wants the lock alone, s together with other
/// readers; the digits are the end of the token, by which a node is found whose creation was never
/// confirmed. Any other sequential node counts as x.
struct QueueNode {
  std::string name;
  bool shared;
  std::int64_t number;  // in the order of arrival, also where ZooKeeper's own number wraps
};
using LockQueue = std::vector<QueueNode>;

/// The children of a lock's node in the order of arrival, without those that have no number.
LockQueue queue_of(const std::vector<std::string>& children);
/// Whether two nodes have the same number, so that nothing says which came first. The numbers of
/// ZooKeeper differ, unless its counter has reached its end and stays there.
bool has_a_tie(const LockQueue& queue);
/// The position of the node that carries the end of the token in its name. Its data says whether
/// that is the whole token.
std::optional<std::size_t> position_of(const LockQueue& queue, const Token& token);
/// The one that the node at `position` has to wait for; nothing: it holds the lock.
std::optional<std::size_t> predecessor_of(const LockQueue& queue, std::size_t position);
/// How many hold it, from the front.
std::size_t holders_in(const LockQueue& queue);

/// The end of a token: the 40 hex digits behind the '#', if an rlock made it.
std::string_view nonce_of(const Token& token);
/// What the sequential node of a claim is called, without its number.
std::string prefix_of(const Token& token, bool shared);
/// The lock's own node.
std::string path_of(const ZooKeeper& ensemble, const LockName& name);

/// The node that a holder makes for a moment when its own was taken away and its job has stopped.
std::string last_word_of(const ZooKeeper& ensemble, const Token& token);

/// A node's data is the token, and behind a newline what its owner is asked for.
struct NodeData {
  Token token;
  std::optional<std::string> stop;  // and why
};
NodeData data_in(const std::string& text);
std::string data_of(const Token& token, const std::string& stop);

}  // namespace store::zookeeper
