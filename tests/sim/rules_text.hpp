// How both sides of rules_sides.hpp write what they see.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "rules_sides.hpp"
#include "store/redis/scripts.hpp"

namespace sim {

inline std::string length_text(const std::optional<store::Millis>& length) {
  return length ? std::to_string(length->count()) : "-";
}

inline std::string mode_text(const store::Mode& mode) {
  const std::string id = store::redis::queue_id(store::Token::foreign(""), mode);
  return id.empty() ? "exclusive" : id;
}

inline std::string holder_text(const std::optional<store::Holder>& holder) {
  if (!holder) return "nobody";
  constexpr const char* kinds[] = {"holder", "kept", "reserved", "foreign", "neighbour"};
  return fmt::format("{} {} left={} held={} more={} reason={}",
                     kinds[static_cast<int>(holder->kind)], holder->token,
                     length_text(holder->expires_in), length_text(holder->held_for), holder->others,
                     holder->reason);
}

inline std::string granted_text(store::Fence fence, unsigned permit, rules::RunNumber number,
                                bool again) {
  return fmt::format("granted {} permit={} attempt={} failures={} again={}", fence, permit,
                     number.attempt, number.failures, again);
}

inline std::string run_text(const store::Run& run) {
  return fmt::format("run=({} {} {} {} {} {} {} {} {} {})", run.fence, run.token.text(),
                     run.granted_ago.count(), run.waited.count(), length_text(run.held),
                     store::text_of(run.outcome), run.why, run.slot, run.attempt, run.reason);
}

/// By whom it is for.
inline std::string mail_text(const std::map<std::string, std::string>& mail) {
  std::string text;
  for (const auto& [to, words] : mail) text += to + ": " + words + '\n';
  return text;
}

/// The state, a line for each part.
class StateText {
 public:
  void fence(store::Fence number, const std::string& token, std::int64_t ends) {
    text_ += fmt::format("fence {} {} until {}\n", number, token, ends);
  }
  void holder(const std::string& id, store::Fence fence, std::int64_t ends, unsigned permit,
              bool kept) {
    text_ += fmt::format("holder {} fence {} until {} permit {}{}\n", id, fence, ends, permit,
                         kept ? " kept" : "");
  }
  void reserved(const std::string& id, std::int64_t ends) {
    text_ += fmt::format("reserved {} until {}\n", id, ends);
  }
  void waiter(const std::string& id, std::uint64_t ticket, std::int64_t believed) {
    text_ += fmt::format("waiter {} ticket {} until {}\n", id, ticket, believed);
  }
  void letters(const std::map<std::string, std::string>& letters) {
    text_ += "letters\n" + mail_text(letters);
  }
  void run(const std::string& line, std::int64_t ends) {
    text_ += fmt::format("run {} until {}\n", line, ends);
  }
  void slot(const std::string& id, const std::string& line, std::int64_t ends) {
    slots_[id] = fmt::format("slot {} {} until {}\n", id, line, ends);
  }
  std::string take() {
    for (const auto& [id, line] : slots_) text_ += line;
    return std::move(text_);
  }

 private:
  std::string text_;
  std::map<std::string, std::string> slots_;
};

}  // namespace sim
