#include "store/quorum/quorum_listener.hpp"

#include <algorithm>
#include <charconv>

#include "os/poll.hpp"
#include "store/quorum/round.hpp"
#include "store/quorum/tally.hpp"

namespace store::quorum {
namespace {

// Nodes that do not answer must not keep us from hearing the others.
constexpr Millis to_connect{300};

class QuorumListener final : public Listener {
 public:
  explicit QuorumListener(std::vector<std::unique_ptr<Listener>> nodes)
      : nodes_{std::move(nodes)}, lost_(nodes_.size()) {}

  [[nodiscard]] int descriptor() const override { return ready_.descriptor(); }

  [[nodiscard]] Deadline due() const override {
    Deadline first = Deadline::never();
    for (const auto& node : nodes_) first = std::min(first, node->due());
    return first;
  }

  void listen(const CallLimit& limit) override {
    std::vector<std::size_t> late;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i]->due().passed(base::now())) late.push_back(i);
    }
    const auto until = std::min(limit.until, Deadline::after(base::now(), to_connect));
    Round<bool> round{late,
                      nodes_.size(),
                      [&](std::size_t node, const CallLimit& share) {
                        nodes_[node]->listen(share);
                        return true;
                      },
                      {until, limit.interrupt}};
    round.wait([](const auto&) { return false; });
    round.end();
    watch();
  }

  std::optional<Notice> take() override {
    std::optional<Notice> heard;
    for (std::size_t i = 0; i < nodes_.size() && !heard; ++i) {
      auto notice = nodes_[i]->take();
      if (!notice) continue;
      if (notice->kind == Notice::Kind::lost) {
        lost_[i] = true;
        const auto said = static_cast<std::size_t>(std::count(lost_.begin(), lost_.end(), true));
        if (said < majority(nodes_.size())) continue;
      }
      if (!notice->reply_to.empty()) notice->reply_to = std::to_string(i) + " " + notice->reply_to;
      heard = std::move(notice);
    }
    watch();
    return heard;
  }

 private:
  void watch() {
    std::vector<int> all;
    for (const auto& node : nodes_) all.push_back(node->descriptor());
    ready_ = os::PollSet{all};
  }

  std::vector<std::unique_ptr<Listener>> nodes_;
  std::vector<bool> lost_;
  os::PollSet ready_{{}};
};

}  // namespace

std::unique_ptr<Listener> open_listener(std::vector<std::unique_ptr<Listener>> nodes) {
  return std::make_unique<QuorumListener>(std::move(nodes));
}

std::pair<std::size_t, Notice> unwrapped(const Notice& notice) {
  Notice original = notice;
  std::size_t node = ~std::size_t{0};
  const auto space = notice.reply_to.find(' ');
  if (space == std::string::npos) return {node, original};
  std::from_chars(notice.reply_to.data(), notice.reply_to.data() + space, node);
  original.reply_to = notice.reply_to.substr(space + 1);
  return {node, original};
}

}  // namespace store::quorum
