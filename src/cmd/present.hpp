// stdout: locks as tables for people and JSON for programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmd/json.hpp"
#include "cmd/table.hpp"
#include "store/lock_admin.hpp"

namespace cmd {

/// "key …", "state …", one fact a line, and who waits. Safe for a terminal; times are local.
std::string as_table(const store::LockReport& report, const Look& look = {});
/// One lock a line, under a heading; with its holder's reason if asked for.
enum class ReasonColumn { no, yes };
std::string as_table(const std::vector<store::LockReport>& reports, const Look& look = {},
                     ReasonColumn reasons = ReasonColumn::no);

/// One object; pure ASCII, so it is safe for a terminal as well.
std::string as_json(const store::LockReport& report);
/// {"locks": [...]}
void write_json(const std::vector<store::LockReport>& reports, Pieces::Write write);

/// The runs of each lock, the newest first, one a line; with several locks, which one it was.
enum class KeyColumn { no, yes };
std::string log_table(const std::vector<store::LockReport>& reports, KeyColumn keys,
                      const Look& look = {});
/// {"locks": [{"key": ..., "runs": [...]}]}
void write_log_json(const std::vector<store::LockReport>& reports, Pieces::Write write);
/// "exit 3", "signal 9", "lost".
std::string shown_outcome(const store::RunOutcome& outcome);
/// "exit 3, 12m ago by app@web1"
std::string shown_done(const store::SlotDone& done);
/// Adds "outcome", "exit_code" and "signal".
void add_outcome(Json& json, const store::RunOutcome& outcome);
/// One run, as write_log_json() has it.
Json as_object(const store::Run& run);

/// Before anything else: where stdout or stderr is closed, what we write there must not reach what
/// we open later.
void secure_output();
/// Even before that: whether this process may have the stack that it needs, beyond which it would
/// crash. Says so if not.
bool has_stack();
/// Writes all of it to stdout. Throws std::system_error if that fails (a full disk, a closed pipe).
void print(std::string_view text);

}  // namespace cmd
