// A lock as text, one record of it: what a server keeps that has no rules of its own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/rules/lock_state.hpp"

namespace store::records {

/// A line for each part of the lock, with tabs between its fields. The first one is the version. A
/// later version of rlock adds lines, which this one keeps, and fields at the end of a line only
/// with a higher number, which this one does not overwrite.
struct Record {
  rules::LockState state{};
  std::vector<std::string> unknown{};  // lines of a later version
};

/// What a server may take of our memory: some seven thousand waiters.
inline constexpr std::size_t longest_record = std::size_t{1} << 20;
/// Beyond it nobody may join the queue: the rest is for grants, releases and words, without which
/// a full queue would never become shorter.
inline constexpr std::size_t longest_record_to_join = longest_record - longest_record / 8;

/// What slots may take of that, some two thousand: the rest is for holders, waiters and runs.
inline constexpr std::size_t longest_slots = longest_record / 2;

std::string text_of(const Record& record);
/// Forgets slots, those that end first, until the others fit. A slot that is running stays.
void make_room(Record& record);
/// When the last thing in it is over; for lines of a later version nobody knows.
rules::TimeMs ends_of(const Record& record);
/// An empty text is a lock that nobody has used. Nothing: it is too long, no record, or one that
/// only a later version understands.
std::optional<Record> record_in(std::string_view text);

}  // namespace store::records
