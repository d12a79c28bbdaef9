// The lock as the scripts of Redis have it, in the form of rules_sides.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "base/result.hpp"
#include "rules_text.hpp"
#include "scripts.hpp"
#include "store/redis/keys.hpp"
#include "store/redis/scripts.hpp"
#include "store/rules/waiting.hpp"

namespace sim {
namespace {

using namespace store;
using redis::queue_id;
namespace scripts = store::redis::scripts;

// Behind a letter that was there before a script ran.
constexpr char read_mark = '\x01';

const redis::LockKeys& keys_of_lock() {
  static const redis::LockKeys keys{lock_of_rules()};
  return keys;
}

void say(Words& words, const char* name, const std::string& value) {
  words.emplace_back(name);
  words.push_back(value);
}
void say(Words& words, const char* name, std::uint64_t value) {
  say(words, name, std::to_string(value));
}
void say(Words& words, const char* name, Millis value) {
  say(words, name, std::to_string(value.count()));
}

struct Command {
  const redis::Script* script;
  Words arguments;
  std::optional<Slot> slot{};
};

Command leaving(const std::string& id, const char* how, const Parting& parting) {
  Command command{&scripts::leave, {}};
  auto& words = command.arguments;
  say(words, "id", id);
  say(words, "confirm_within", rules::confirm_within);
  say(words, "how", how);
  if (parting.min_hold > Millis{0}) say(words, "min_hold", parting.min_hold);
  if (parting.history > Millis{0}) say(words, "history", parting.history);
  if (parting.end) say(words, "run_end", fields_of_end(*parting.end));
  if (parting.fence) say(words, "fence", *parting.fence);
  if (const auto& of_slot = parting.slot) {
    using End = Parting::SlotEnd;
    command.slot = of_slot->slot;
    const auto end = of_slot->end;
    if (parting.end) {
      say(words, "slot_end", end == End::done ? "done" : end == End::failed ? "failed" : "open");
    }
    say(words, "retries", of_slot->slot.retries);
    say(words, "attempt", of_slot->attempt);
    say(words, "failures", of_slot->failures);
  }
  return command;
}

Command command_for(const RuleRequest& request) {
  const std::string confirm = std::to_string(rules::confirm_within.count());
  return base::match(
      request,
      [&](const rules::Enter& enter) {
        const Claim& claim = enter.claim;
        Command command{&scripts::enter, {}, claim.slot};
        auto& words = command.arguments;
        say(words, "id", queue_id(claim.token, claim.mode));
        say(words, "ttl", claim.ttl.length());
        say(words, "confirm_within", confirm);
        if (claim.on_busy == OnBusy::queue) say(words, "patience", rules::patience);
        if (enter.ticket) say(words, "ticket", *enter.ticket);
        if (claim.max_waiters) say(words, "max_waiters", *claim.max_waiters);
        if (!claim.supersede.empty()) say(words, "supersede", claim.supersede);
        if (claim.spare_holders) say(words, "spare_holders", 1);
        if (enter.tried > Millis{0}) say(words, "tried", enter.tried);
        if (claim.history > Millis{0}) say(words, "history", claim.history);
        say(words, "run_begin", fields_of_claim(claim.waited, claim.slot ? claim.slot->id : ""));
        if (!claim.reason.empty()) say(words, "reason", claim.reason);
        return command;
      },
      [](const rules::Leave& leave) {
        return leaving(leave.token.text(), "release", leave.parting);
      },
      [](const rules::Cancel& cancel) {
        return leaving(queue_id(cancel.claim.token, cancel.claim.mode), "cancel",
                       no_run(cancel.claim));
      },
      [](const rules::Refresh& refresh) {
        return Command{&scripts::renew,
                       {refresh.token.text(), std::to_string(refresh.ttl.length().count())}};
      },
      [&](const rules::ForceRelease& release) {
        Command command{&scripts::force_release, {confirm, release.reply_to, release.by}};
        for (const Token& token : release.shown) command.arguments.push_back(token.text());
        return command;
      },
      [](const rules::AskToStop& ask) {
        Command command{&scripts::ask_to_stop, {ask.reply_to, ask.why}};
        for (const Token& token : ask.whom) command.arguments.push_back(token.text());
        return command;
      },
      [](const rules::LastWordTo& word) {
        return Command{&scripts::tell, {word.reply_to, "stopped"}};
      },
      [](const Check& check) {
        return Command{&scripts::check, {check.token.text()}};
      },
      [](const Inspect&) {
        return Command{&scripts::inspect, {"50"}};
      });
}

// ---- answers
// ---------------------------------------------------------------------------------------

std::optional<Millis> length_in(const Reply& reply) {
  return reply.kind == Reply::Kind::integer ? std::optional{Millis{reply.integer}} : std::nullopt;
}

std::optional<Holder> holder_in(const Reply& fields) {
  const std::string& kind = field(fields, "kind", 0).text;
  if (kind.empty()) return std::nullopt;
  Holder holder{Holder::Kind::foreign, field(fields, "token", 0).text,
                length_in(field(fields, "held", 0)), length_in(field(fields, "left", 0))};
  if (kind == "holder") holder.kind = Holder::Kind::holder;
  if (kind == "kept") holder.kind = Holder::Kind::kept;
  if (kind == "reserved") holder.kind = Holder::Kind::reserved;
  holder.others = static_cast<std::size_t>(field(fields, "more", 0).integer);
  holder.reason = field(fields, "reason", 0).text;
  return holder;
}

std::uint64_t number_of(const Reply& reply) {
  return std::stoull(reply.text);
}

std::string report_text(const Reply& reply) {
  const std::string& mode = field(reply, "mode").text;
  const std::string& fence = field(reply, "fence").text;
  std::string text =
      fmt::format("mode={} fence={}", mode.empty() ? "-" : mode_text(redis::mode_in(mode)),
                  fence.empty() ? "-" : fence);
  const auto first = holder_in(field(reply, "holder"));
  const auto& several = field(reply, "holders").elements;
  for (const Reply& each : several) {
    Holder holder{field(each, "kept", 0).integer == 1 ? Holder::Kind::kept : Holder::Kind::holder,
                  field(each, "token", 0).text, length_in(field(each, "held", 0)),
                  length_in(field(each, "left", 0))};
    text += fmt::format(" holder=({} fence={} permit={})", holder_text(holder),
                        field(each, "fence", 0).text, field(each, "permit", 0).integer);
  }
  if (first && several.empty()) {
    const bool granted = first->kind == Holder::Kind::holder || first->kind == Holder::Kind::kept;
    text +=
        fmt::format(" holder=({} fence={} permit=0)", holder_text(first), granted ? fence : "-");
  }
  const auto& waiters = field(reply, "waiters").elements;
  for (std::size_t i = 0; i + 1 < waiters.size(); i += 2) {
    const auto ms = waiters[i + 1].integer;
    text += fmt::format(" waiter=({} {})", waiters[i].text,
                        length_text(ms < 0 ? std::nullopt : std::optional{Millis{ms}}));
  }
  const auto& runs = field(reply, "runs").elements;
  const auto now = std::stoll(field(reply, "now").text);
  for (std::size_t i = 0; i + 1 < runs.size(); i += 2) {
    text += ' ' + run_text(run_in(runs[i].text, now, runs[i + 1].integer == 1).value());
  }
  return text;
}

std::string text_of(const Reply& reply) {
  if (reply.kind == Reply::Kind::integer) return std::to_string(reply.integer);
  if (reply.is_error() && reply.text.starts_with("RLOCK the fence")) return "no higher fence";
  if (reply.is_error()) throw std::runtime_error{"an error: " + reply.text};
  const std::string& kind = reply.elements[0].text;
  const auto integer = [&](const char* name) { return field(reply, name).integer; };
  if (kind == "granted") {
    return granted_text(
        number_of(field(reply, "fence")), static_cast<unsigned>(integer("permit")),
        {static_cast<unsigned>(integer("attempt")), static_cast<unsigned>(integer("failures"))},
        integer("again") == 1);
  }
  const std::string holder = holder_text(holder_in(field(reply, "holder")));
  if (kind == "busy") return fmt::format("busy holder=({}) waiting={}", holder, integer("waiting"));
  if (kind == "queued") {
    return fmt::format("queued holder=({}) ahead={} ticket={} look_in={} typical={}", holder,
                       integer("ahead"), field(reply, "ticket").text,
                       length_text(length_in(field(reply, "look_in"))),
                       length_text(length_in(field(reply, "typical_run"))));
  }
  if (kind == "done") {
    return fmt::format("done {} {} {} {} {}", integer("attempt"), field(reply, "outcome").text,
                       integer("ago"), field(reply, "fence").text, field(reply, "token").text);
  }
  if (kind == "mismatch") {
    return "mismatch " + queue_id(Token::foreign(field(reply, "token").text),
                                  redis::mode_in(field(reply, "mode").text));
  }
  if (kind == "removed") return "removed";
  if (kind == "changed") return "changed " + holder;
  if (kind == "ours") {
    return fmt::format("ours {} {}", integer("left"), field(reply, "fence").text);
  }
  if (kind == "elsewhere") return "elsewhere " + holder;
  return report_text(reply);
}

std::uint64_t whole(double number) {
  return static_cast<std::uint64_t>(number);
}

const std::vector<SortedSet::Entry>& entries(Keyspace& keys, const std::string& key) {
  static const std::vector<SortedSet::Entry> none;
  const auto found = find<SortedSet>(keys, key);
  return found.content == nullptr ? none : found.content->entries();
}

std::map<std::string, double> scores(Keyspace& keys, const std::string& key) {
  std::map<std::string, double> scores;
  for (const auto& [score, member] : entries(keys, key)) scores[member] = score;
  return scores;
}

}  // namespace

/// As its words on the wire.
std::string told(const RuleRequest& request) {
  const Command command = command_for(request);
  std::string text{command.script == &scripts::enter           ? "enter"
                   : command.script == &scripts::leave         ? "leave"
                   : command.script == &scripts::renew         ? "renew"
                   : command.script == &scripts::check         ? "check"
                   : command.script == &scripts::inspect       ? "inspect"
                   : command.script == &scripts::force_release ? "force-release"
                   : command.script == &scripts::ask_to_stop   ? "ask-to-stop"
                                                               : "tell"};
  if (command.slot) text += " slot=" + command.slot->id;
  for (const std::string& word : command.arguments) text += ' ' + word;
  return text;
}

Reply LuaSide::run(const RuleRequest& request, std::uint64_t now_us) {
  const Command command = command_for(request);
  const auto& keys = keys_of_lock();
  Words words{"EVAL",
              std::string{command.script->body},
              command.slot ? "8" : "7",
              lock_of_rules().text(),
              keys.queue,
              keys.alive,
              keys.fence,
              keys.held,
              keys.grants,
              keys.runs};
  if (command.slot) words.push_back(keys.slot + command.slot->id);
  words.push_back(keys.mailbox);
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  return redis_.execute(client_, words, static_cast<Micros>(now_us)).value();
}

/// On the server a mailbox ends a while after its last word, not each letter by itself.
void LuaSide::forget_old_letters(Keyspace& keys) {
  for (auto& [name, ends] : letters_end_) {
    const auto found = find<List>(keys, name);
    if (found.content == nullptr) ends.clear();
    for (std::size_t i = ends.size(); i-- > 0;) {
      if (ends[i] > keys.now_ms()) continue;
      ends.erase(ends.begin() + static_cast<std::ptrdiff_t>(i));
      found.content->erase(found.content->begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (found.content != nullptr && found.content->empty()) keys.remove(name);
  }
}

/// Returns new letters, and marks them as read.
std::string LuaSide::read_mail(Keyspace& keys) {
  std::map<std::string, std::string> posts;
  const std::string& mailbox = keys_of_lock().mailbox;
  for (const std::string& name : keys.names()) {
    if (!name.starts_with(mailbox)) continue;
    const auto found = find<List>(keys, name);
    if (found.content == nullptr) continue;
    List letters;
    std::deque<std::int64_t> ends;
    for (std::string& word : *found.content) {
      const bool is_read = word.ends_with(read_mark);
      if (!is_read) posts[name.substr(mailbox.size())] += '<' + word + '>';
      if (word == "wake" || word == "next" || word == "done") continue;
      if (!is_read) word += read_mark;
      ends.push_back(is_read ? letters_end_[name].at(ends.size())
                             : keys.now_ms() + rules::letter_life.count());
      letters.push_back(std::move(word));
    }
    letters_end_[name] = std::move(ends);
    if (letters.empty()) {
      keys.remove(name);
    } else {
      *found.content = std::move(letters);
      keys.find(name)->ends_ms.reset();
    }
  }
  (void)keys.take_new_lists();
  return mail_text(posts);
}

std::string LuaSide::state(Keyspace& keys) {
  const auto& names = keys_of_lock();
  StateText text;
  std::string last_token;
  store::Fence last_fence = 0;
  if (Value* fence = keys.find(names.fence)) {
    const auto& words = std::get<std::string>(fence->content);
    const auto space = words.find(' ');
    last_fence = std::stoull(words.substr(0, space));
    last_token = words.substr(space + 1);
    text.fence(last_fence, last_token, fence->ends_ms.value_or(-1));
  }
  const auto is_kept = [&](const std::string& token) {
    const auto mail = find<std::string>(keys, names.mailbox + token);
    return mail.content != nullptr && *mail.content == "kept";
  };
  if (Value* lock = keys.find(lock_of_rules().text())) {
    const auto& owner = std::get<std::string>(lock->content);
    const auto ends = lock->ends_ms.value_or(-1);
    if (owner.starts_with("rlock:")) {
      const auto held = scores(keys, names.held);
      const auto grants = scores(keys, names.grants);
      const auto mode = redis::mode_in(owner.substr(6));
      for (const auto& [number, token] : entries(keys, names.grants)) {
        const auto end = held.find(token);
        if (end == held.end() || static_cast<std::int64_t>(end->second) <= keys.now_ms()) continue;
        const auto permit = grants.find("permit " + token);
        text.holder(queue_id(Token::foreign(token), mode), whole(number),
                    static_cast<std::int64_t>(end->second),
                    permit == grants.end()
                        ? 0
                        : static_cast<unsigned>((permit->second - std::pow(2, 53)) / 2),
                    is_kept(token));
      }
    } else if (owner == last_token && !scores(keys, names.queue).contains(owner)) {
      text.holder(owner, last_fence, ends, 0, is_kept(owner));
    } else {
      text.reserved(owner, ends);
    }
  }
  const auto alive = scores(keys, names.alive);
  for (const auto& [ticket, id] : entries(keys, names.queue)) {
    text.waiter(id, whole(ticket), static_cast<std::int64_t>(alive.at(id)));
  }
  std::map<std::string, std::string> letters;
  for (const std::string& name : keys.names()) {
    if (!name.starts_with(names.mailbox)) continue;
    const auto found = find<List>(keys, name);
    if (found.content == nullptr) continue;
    for (const std::string& word : *found.content) {
      letters[name.substr(names.mailbox.size())] += '<' + word.substr(0, word.size() - 1) + '>';
    }
  }
  text.letters(letters);
  if (Value* runs = keys.find(names.runs)) {
    for (const auto& line : std::get<List>(runs->content))
      text.run(line, runs->ends_ms.value_or(-1));
  }
  for (const std::string& id : slots_of_rules()) {
    if (Value* slot = keys.find(names.slot + id)) {
      text.slot(id, std::get<std::string>(slot->content), slot->ends_ms.value_or(-1));
    }
  }
  return text.take();
}

Seen LuaSide::play(const RuleRequest& request, std::uint64_t now_us) {
  Seen seen;
  Keyspace& keys = redis_.keys(0, static_cast<Micros>(now_us));
  forget_old_letters(keys);
  seen.answer = text_of(run(request, now_us));
  seen.posts = read_mail(keys);
  for (const auto& name : {keys_of_lock().queue, keys_of_lock().alive}) {
    if (Value* value = keys.find(name)) value->ends_ms.reset();
  }
  seen.state = state(keys);
  return seen;
}

std::vector<std::int64_t> LuaSide::ends(std::uint64_t now_us) {
  Keyspace& keys = redis_.keys(0, static_cast<Micros>(now_us));
  std::vector<std::int64_t> ends;
  for (const std::string& name : keys.names()) {
    if (const auto at = keys.find(name)->ends_ms) ends.push_back(*at);
  }
  return ends;
}

}  // namespace sim
