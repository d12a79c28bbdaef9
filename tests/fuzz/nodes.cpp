// The nodes of a queue: their names and their texts.
#include "property.hpp"
#include "store/sessions/queue.hpp"
#include "store/zookeeper/numbers.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace store::sessions;
  auto text = fuzz::text_of(data, size);
  std::vector<std::string> children;
  while (!text.empty()) children.emplace_back(fuzz::next(text, '\n'));
  const auto nodes = store::zookeeper::in_order(children);
  std::vector<std::string> names;
  for (const auto& each : nodes) names.push_back(each.name);
  const LockQueue queue = queue_of(names);
  fuzz::promise(queue.size() <= children.size(), "nobody who is not there");
  const auto holders = holders_in(queue);
  fuzz::promise(holders <= queue.size() && (queue.empty() || holders > 0), "the first holds");
  for (std::size_t i = 0; i < queue.size(); ++i) {
    fuzz::promise(i == 0 || nodes[i - 1].number <= nodes[i].number, "in the order of arrival");
    const auto before = watched_by(queue, i);
    for (const auto each : before) fuzz::promise(each < i, "one waits for those before");
    fuzz::promise(before.empty() == (i < holders), "who waits does not hold");
  }
  const std::string content{fuzz::text_of(data, size)};
  const NodeText node = text_in(content);
  fuzz::promise(content.starts_with(node.token.text()), "the token comes first");
  fuzz::promise(text_in(text_of(node)) == node, "a text is read back");
  (void)superseded_in(content, node.token.text());
  (void)position_of(queue, node.token);
  return 0;
}
