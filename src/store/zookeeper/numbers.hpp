// The order of the children of a ZooKeeper node, by the numbers that ZooKeeper appends to the names
// of sequential nodes. No socket.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace store::zookeeper {

struct NumberedNode {
  std::string name;
  std::int64_t number;  // in the order of creation, also where ZooKeeper's own number wraps
};

/// The sequential nodes among the children in the order of creation, whatever recipe made them.
std::vector<NumberedNode> in_order(const std::vector<std::string>& children);
/// Whether two nodes have the same number, so that their order is unknown. The numbers of ZooKeeper
/// differ, unless its counter has reached its end and stays there.
bool has_a_tie(const std::vector<NumberedNode>& nodes);

}  // namespace store::zookeeper
