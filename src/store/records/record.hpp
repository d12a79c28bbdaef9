// A lock as text, in one record: for a server that has no rules of its own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/rules/lock_state.hpp"

namespace store::records {

/// One line for each part of the lock, with tabs between its fields; the first is the version. A
/// later version of rlock may add lines, which this one keeps. It may add fields only with a higher
/// version number, and this one does not overwrite such a record.
struct Record {
  rules::LockState state{};
  std::vector<std::string> unknown{};  // lines from a later version
};

/// The limit of memory for a server's answer: some seven thousand waiters.
inline constexpr std::size_t longest_record = std::size_t{1} << 20;
/// No waiter joins the queue beyond this size: the rest is for grants, releases and letters,
/// without which a full queue could not shrink.
inline constexpr std::size_t longest_record_to_join = longest_record - longest_record / 8;

/// The share of slots, some two thousand: the rest is for holders, waiters and runs.
inline constexpr std::size_t longest_slots = longest_record / 2;

std::string text_of(const Record& record);
/// Drops slots, the earliest end first, until the others fit. Keeps running slots.
void make_room(Record& record);
/// When the last part of the record expires; never if it contains lines from a later version.
rules::TimeMs ends_of(const Record& record);
/// An empty text is an unused lock. Nothing if the text is too long, not a record, or needs a later
/// version.
std::optional<Record> record_in(std::string_view text);

}  // namespace store::records
