// A hold that another process began: `rlock refresh`, `release` and `check` know only its token.
#include <algorithm>

#include "store/sessions/contender.hpp"
#include "store/sessions/report.hpp"

namespace store::sessions {

Result<std::optional<Contender>> holder_with(Session& session, const Places& places,
                                             const Token& token, const CallLimit& limit) {
  Round look;
  look.queue(places.queue);
  look.children_of(places.runs);
  const Answers seen = session.ask(look, limit);
  const auto& names = seen.queues.front();
  const auto& runs = seen.children.front();
  if (!names) return names.error();
  if (!runs) return runs.error();
  const LockQueue queue = queue_of(names->names);
  const auto position = position_of(queue, token);
  if (!position || *position >= holders_in(queue)) return std::optional<Contender>{};

  Contender holder;
  holder.places = places;
  holder.change = names->change;
  holder.own.path = places.queue + "/" + queue[*position].name;
  holder.run.others = runs->names;
  std::vector<std::string> paths{holder.own.path};
  const auto run = std::find_if(runs->names.begin(), runs->names.end(),
                                [&](const auto& each) { return is_run_of(each, token); });
  if (run != runs->names.end()) paths.push_back(places.runs + "/" + *run);
  const auto nodes = read_all(session, paths, limit);
  if (!nodes) return nodes.error();
  const auto& own = nodes->front();
  if (!own) return std::optional<Contender>{};
  holder.note_own(*own);
  const NodeText& text = holder.own.text;
  const bool has_permit = queue[*position].mode.kind != Mode::Kind::permits || text.permit > 0;
  // A name carries only the end of a token.
  if (text.token != token || !has_permit || text.is_kept) return std::optional<Contender>{};
  if (paths.size() > 1 && nodes->back()) {
    holder.run.node = paths.back();
    holder.run.text = nodes->back()->text;
    holder.run.made = nodes->back()->stat;
  }
  return std::optional{std::move(holder)};
}

}  // namespace store::sessions
