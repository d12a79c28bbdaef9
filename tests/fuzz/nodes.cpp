// ZooKeeper's nodes: their names, one a line, and their content.
#include "property.hpp"
#include "store/zookeeper/line.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace store::zookeeper;
  auto text = fuzz::text_of(data, size);
  std::vector<std::string> children;
  while (!text.empty()) children.emplace_back(fuzz::next(text, '\n'));
  const Line line = line_of(children);
  fuzz::promise(line.size() <= children.size(), "nobody who is not there");
  const auto holders = holders_in(line);
  fuzz::promise(holders <= line.size() && (line.empty() || holders > 0), "the first holds");
  for (std::size_t i = 0; i < line.size(); ++i) {
    fuzz::promise(i == 0 || line[i - 1].number <= line[i].number, "in the order of arrival");
    const auto blocker = blocker_of(line, i);
    fuzz::promise(!blocker || *blocker < i, "one waits for those before");
    fuzz::promise(blocker.has_value() == (i >= holders), "who waits does not hold");
  }
  const std::string content{fuzz::text_of(data, size)};
  const auto [token, stop] = message_in(content);
  fuzz::promise(content.starts_with(token.text()), "the token comes first");
  if (stop) fuzz::promise(data_of(token, *stop) == content, "a message is read back");
  (void)place_of(line, token);
  return 0;
}
