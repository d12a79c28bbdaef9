// The queue of one lock, read from the names of its nodes: who holds it, and which node does a
// waiter wait for? No socket.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/claim.hpp"

namespace store::sessions {

/// A node such as `x-<40 hex digits>-0000000007`: x wants the lock alone, s together with other
/// readers. The digits are the end of the token; by them a client finds its node if it never heard
/// that the node was created. ZooKeeper appends the number. A node of another recipe counts as x.
struct QueueNode {
  std::string name;
  Mode mode;
};
using LockQueue = std::vector<QueueNode>;

/// Of names in the order of creation.
LockQueue queue_of(const std::vector<std::string>& names);
/// The place of the node that carries the end of the token in its name. Its text says whether that
/// is the whole token.
std::optional<std::size_t> position_of(const LockQueue& queue, const Token& token);
/// The place that the node at `position` has to wait for; nothing: it holds the lock.
std::optional<std::size_t> predecessor_of(const LockQueue& queue, std::size_t position);
/// How many hold it, from the front.
std::size_t holders_in(const LockQueue& queue);

/// The end of a token: the 40 hex digits behind the '#', if an rlock made it.
std::string_view nonce_of(const Token& token);
/// The name of a claim's node, without the number.
std::string prefix_of(const Token& token, const Mode& mode);

/// The text of a node: the token, and behind a newline the request to stop that somebody wrote.
struct NodeText {
  Token token;
  std::optional<std::string> stop{};  // the reason
};
NodeText text_in(const std::string& text);
std::string text_of(const Token& token, const std::string& stop);

}  // namespace store::sessions
