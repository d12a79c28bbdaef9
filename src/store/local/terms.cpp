#include "store/local/terms.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace store::local {
namespace {

/// Readers and writers go together; permits only with the same number of them.
bool go_together(const Mode& a, const Mode& b) {
  const bool permits = a.kind == Mode::Kind::permits || b.kind == Mode::Kind::permits;
  return !permits || a == b;
}

}  // namespace

Holder occupant_of(const Entry& holder) {
  const auto now = wall_now();
  Holder occupant{Holder::Kind::holder, holder.token.text(),
                  Millis{std::max<WallTime>(now - holder.since, 0)}, std::nullopt};
  if (holder.kept && *holder.kept > now) occupant.expires_in = Millis{*holder.kept - now};
  return occupant;
}

std::optional<Holder> occupant_in(const std::vector<Entry>& holders, const Token& mine) {
  std::optional<Holder> first;
  for (const Entry& each : holders) {
    if (each.token == mine) continue;
    if (first) {
      ++first->others;
    } else {
      first = occupant_of(each);
    }
  }
  return first;
}

std::optional<ModeConflict> mismatch_in(Roster& roster, const Mode& mode) {
  const Entry* one = roster.anyone();
  if (one == nullptr || go_together(one->mode, mode)) return std::nullopt;
  return ModeConflict{one->mode, one->token};
}

std::optional<Notice> notice_in(std::string_view line) {
  const std::string_view stop{message::stop};
  const std::string_view lost{message::lost};
  if (line.starts_with(stop)) {
    return Notice{Notice::Kind::stop, base::printable(line.substr(stop.size())), ""};
  }
  if (line.starts_with(lost)) {
    return Notice{Notice::Kind::lost,
                  "force-released by " + base::printable(line.substr(lost.size())), ""};
  }
  return std::nullopt;
}

}  // namespace store::local
