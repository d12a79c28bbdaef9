// The queue of one lock, read from the names of its nodes: who holds it, and for which nodes does a
// waiter wait? No socket.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/claim.hpp"

namespace store::sessions {

/// A node such as `x-<40 hex digits>-0000000007`: x wants the lock alone, s together with other
/// readers, p3 is one of three permits, p3.<16 hex digits> one of three whose names have that
/// digest. The 40 digits are the end of the token; by them a client finds its node if it never
/// heard that the node was created. The server appends the number. A node of another recipe counts
/// as x.
struct QueueNode {
  std::string name;
  Mode mode;  // as the name tells it: see named_in_queue()
};
using LockQueue = std::vector<QueueNode>;

/// The mode with the digest of the permits' names in place of these.
Mode named_in_queue(const Mode& mode);

/// Of names in the order of creation.
LockQueue queue_of(const std::vector<std::string>& names);
/// The place of the node that carries the end of the token in its name. Its text says whether that
/// is the whole token.
std::optional<std::size_t> position_of(const LockQueue& queue, const Token& token);
/// The places of the nodes whose changes the waiter at `position` must hear of; none: it is among
/// the first that may hold the lock together. When one of them goes, others may still be before it,
/// unless its place is the first.
std::vector<std::size_t> watched_by(const LockQueue& queue, std::size_t position);
/// How many hold it, from the front. A permit is held once its node has a number.
std::size_t holders_in(const LockQueue& queue);
/// How many wait before the node at `position`.
std::size_t waiters_before(const LockQueue& queue, std::size_t position);

/// The end of a token: the 40 hex digits behind the '#', if an rlock made it.
std::string_view nonce_of(const Token& token);
/// The name of a claim's node, without the number; `mode` as in a queue.
std::string prefix_of(const Token& token, const Mode& mode);

/// The text of a node: the token, and a line for each of the others that is there.
struct NodeText {
  Token token;
  std::vector<std::string> names{};   // of all permits, if they have names
  unsigned permit = 0;                // the number of its permit; 0: it has none yet
  bool waits = false;                 // it has not taken the lock: a newer claim may remove it
  std::string others{};               // lines of a later version, each behind a newline
  std::optional<std::string> stop{};  // somebody asks its owner to stop, for this reason
  bool is_step = false;               // it outlives its process: `rlock refresh` renews it
  bool is_kept = false;               // its job has ended, and --min-hold keeps it

  bool operator==(const NodeText&) const = default;
};
NodeText text_in(const std::string& text);
std::string text_of(const NodeText& node);

/// The mode of a node with that text.
Mode mode_of(const QueueNode& node, const NodeText& text);

// ---- the node of a lock that tells superseded waiters of it whose nodes are gone

/// The text with more of them, given by the ends of their tokens; it forgets the oldest.
std::string with_superseded(std::string text, const std::vector<std::string>& nonces,
                            std::string why);
/// Why that one was superseded; nothing: it was not, as far as is remembered.
std::optional<std::string> superseded_in(std::string_view text, std::string_view nonce);

}  // namespace store::sessions
