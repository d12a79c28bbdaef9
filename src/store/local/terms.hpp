// The ledger in the words of the contract.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "store/local/ledger.hpp"

namespace store::local {

/// The first of them but `mine`, if there is one; nothing while the lock only waits to be taken.
std::optional<Holder> occupant_in(const std::vector<Entry>& holders, const Token& mine);
Holder occupant_of(const Entry& holder);

/// Somebody who uses the lock in a way that does not go together with `mode`. One of them speaks
/// for all, as each was let in only if it went together with the others.
std::optional<ModeConflict> mismatch_in(Roster& roster, const Mode& mode);

/// "stop why" or "lost why"; nothing for anything else.
std::optional<Notice> notice_in(std::string_view line);

}  // namespace store::local
