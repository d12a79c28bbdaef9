// A server of records in memory, with the faults that a test wants.
#pragma once

#include <sys/eventfd.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "os/fd.hpp"
#include "store/records/records.hpp"

namespace fake {

/// Shared by all its connections.
struct RecordServer {
  enum class Swapped { answered, answer_lost, never_arrived };

  struct Kept {
    std::string text;
    std::uint64_t version = 0;
  };
  struct Line {
    std::string whom;
    std::deque<std::string> posts{};
    os::Fd bell{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  };

  std::map<std::string, Kept> records{};
  std::uint64_t now_us = 1'795'000'000'000'000;
  std::vector<std::weak_ptr<Line>> lines{};
  std::deque<Swapped> swaps{};          // what becomes of the next ones
  std::function<void()> before_swap{};  // what else happens between a read and its swap
  bool loses_posts = false;
  bool is_late_with_news = false;  // a refused swap does not say how the record stands
  bool has_pooler = false;         // as loses_posts, and a listener learns of it
  bool refuses_to_listen = false;
  std::size_t reads = 0;
  std::size_t writes = 0;

  void pass(std::int64_t ms) { now_us += static_cast<std::uint64_t>(ms) * 1000; }
  void post(const store::rules::Post& post) {
    for (const auto& each : lines) {
      const auto line = each.lock();
      if (loses_posts || has_pooler || !line || line->whom != post.to) continue;
      line->posts.push_back(post.message);
      (void)!::eventfd_write(line->bell.number(), 1);
    }
  }
};

class Records : public store::records::Records {
 public:
  explicit Records(RecordServer& server) : server_{server} {}

  store::Result<store::records::Snapshot> read(const store::LockName& name,
                                               const store::CallLimit& /*limit*/) override {
    ++server_.reads;
    const auto& kept = server_.records[name.text()];
    return store::records::Snapshot{kept.text, kept.version, server_.now_us};
  }

  store::Result<store::records::Swapped> swap(const store::LockName& name,
                                              const store::records::Swap& swap,
                                              const store::CallLimit& /*limit*/) override {
    using Swapped = RecordServer::Swapped;
    if (const auto meanwhile = std::exchange(server_.before_swap, {})) meanwhile();
    auto becomes = Swapped::answered;
    if (!server_.swaps.empty()) {
      becomes = server_.swaps.front();
      server_.swaps.pop_front();
    }
    const store::Fault silent{store::Fault::Kind::silent, "no answer"};
    if (becomes == Swapped::never_arrived) return silent;
    auto& kept = server_.records[name.text()];
    if (kept.version != swap.version || server_.now_us > swap.latest_us) {
      if (server_.is_late_with_news)
        return store::records::Swapped{store::records::Snapshot{"", swap.version, 0}};
      return store::records::Swapped{
          store::records::Snapshot{kept.text, kept.version, server_.now_us}};
    }
    kept.text = swap.text;
    ++kept.version;
    ++server_.writes;
    for (const auto& each : swap.posts) server_.post(each);
    if (becomes == Swapped::answer_lost) return silent;
    return store::records::Swapped{store::records::Written{kept.version, server_.now_us}};
  }

  store::Result<std::vector<store::records::Named>> page(
      const std::string& after, const store::CallLimit& /*limit*/) override {
    constexpr std::size_t longest = 2;
    std::vector<store::records::Named> page;
    for (auto each = server_.records.upper_bound(after);
         each != server_.records.end() && page.size() < longest; ++each) {
      const auto& [name, kept] = *each;
      if (!kept.text.empty()) page.push_back({name, {kept.text, kept.version, server_.now_us}});
    }
    return page;
  }

  store::Result<store::records::Posts> listen(const store::LockName& /*name*/,
                                              const std::string& whom,
                                              const store::CallLimit& /*limit*/) override {
    if (server_.refuses_to_listen) {
      return store::Fault{store::Fault::Kind::unreachable, "connection refused"};
    }
    line_ = std::make_shared<RecordServer::Line>(RecordServer::Line{whom});
    server_.lines.push_back(line_);
    return server_.has_pooler ? store::records::Posts::do_not_arrive
                              : store::records::Posts::arrive;
  }
  [[nodiscard]] int descriptor() const override { return line_ ? line_->bell.number() : -1; }
  store::Result<std::optional<std::string>> take() override {
    if (!line_) return store::Fault{store::Fault::Kind::unreachable, "no connection"};
    eventfd_t rung = 0;
    if (line_->posts.size() <= 1) (void)!::eventfd_read(line_->bell.number(), &rung);
    if (line_->posts.empty()) return std::optional<std::string>{};
    std::optional<std::string> post{std::move(line_->posts.front())};
    line_->posts.pop_front();
    return post;
  }

 private:
  RecordServer& server_;
  std::shared_ptr<RecordServer::Line> line_{};
};

inline store::records::OpenRecords opener(RecordServer& server) {
  return [&server] { return std::make_unique<Records>(server); };
}

}  // namespace fake
