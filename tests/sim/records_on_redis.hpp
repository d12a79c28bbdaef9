// A server of records, in the world of the simulator: each is a hash of a Redis there, which a
// script reads and another one swaps. So everything that can happen to a Redis happens to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "resp.hpp"
#include "store/records/records.hpp"
#include "store/redis/server.hpp"

namespace sim {

/// The faults of such a server.
struct BadRecords {
  bool swaps_blindly = false;  // whatever version the record has
  bool tells_old_time = false;
  bool loses_posts = false;
};

/// The record that a command to such a server writes, if it does.
struct RecordWritten {
  std::string lock;
  std::string text;
};
/// The third part of the answer to a swap that was done.
inline constexpr std::string_view swap_was_done = "written";
std::optional<RecordWritten> record_written_by(const Words& words);

store::records::OpenRecords records_on(const store::RedisServer& server, const BadRecords& bad);

}  // namespace sim
