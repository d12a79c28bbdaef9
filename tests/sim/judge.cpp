#include "judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "records_on_redis.hpp"
#include "scripts.hpp"

namespace sim {
namespace {

using store::redis::Script;
namespace scripts = store::redis::scripts;

const Script* script_of(const Words& words) {
  if (words.size() <= first_argument) return nullptr;
  const bool by_digest = words[0] == "EVALSHA";
  if (!by_digest && words[0] != "EVAL") return nullptr;
  for (const auto& [name, each] : all_scripts()) {
    if (words[1] == (by_digest ? each->sha1 : each->body)) return each;
  }
  return nullptr;
}

const std::string& name_of(const Script* script) {
  const auto& all = all_scripts();
  return std::find_if(all.begin(), all.end(),
                      [&](const auto& each) { return each.second == script; })
      ->first;
}

/// Long words cut, tokens as what is left of them.
std::string short_word(const std::string& word) {
  const auto hash = word.find('#');
  if (hash != std::string::npos) return fmt::format("<{}>", word.substr(0, hash + 5));
  return word.size() > 60 ? word.substr(0, 57) + "..." : word;
}

std::string shown_short(const Reply& reply) {
  if (reply.kind != Reply::Kind::array) return short_word(shown(reply));
  std::string out;
  for (const Reply& each : reply.elements) {
    out += (out.empty() ? "" : " ") +
           (each.kind == Reply::Kind::bulk ? short_word(each.text) : shown(each));
  }
  return out;
}

}  // namespace

// ---- the history
// ---------------------------------------------------------------------------------

void Judge::note(const std::string& text) {
  for (std::size_t at = 0; at < text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = text.size();
    std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
    fingerprint_ = (fingerprint_ ^ word) * 0x9E3779B97F4A7C15U;
    fingerprint_ ^= fingerprint_ >> 29U;
  }
}

void Judge::say(int client, const std::string& what) {
  if (!tells_) {
    note(what);
    return;
  }
  const std::string who = client == 0 ? "" : fmt::format("client {}: ", client);
  const auto line =
      fmt::format("{:12.6f} s  {}{}\n", static_cast<double>(world_.now()) / 1e9, who, what);
  note(what);
  history_ += line;
}

void Judge::executed(Server& server, const Words& all_words, const Reply& reply, Micros now) {
  const Script* script = script_of(all_words);
  Words words = all_words;
  if (script != nullptr && words[2] == "8") words.erase(words.begin() + slot_key);
  const bool known = script != nullptr && !(reply.is_error() && reply.text.starts_with("NOSCRIPT"));
  if (tells_ && known) {
    std::string arguments;
    for (std::size_t i = first_argument; i < words.size(); ++i) {
      arguments += ' ' + (words[i].empty() ? "''" : short_word(words[i]));
    }
    say(0, fmt::format("    server {}: {} {}{} -> {}", server.number, name_of(script), words[3],
                       arguments, shown_short(reply)));
  } else if (known) {
    for (std::size_t i = first_argument; i < words.size(); ++i) note(words[i]);
    for (const Reply& each : reply.elements) note(each.text);
  }
  if (known && words.size() < all_words.size()) {
    see_rules(server, all_words[slot_key], script, words, reply, now);
  }
  const auto& parts = reply.elements;
  const bool is_done = parts.size() == 3 && parts[2].text == swap_was_done;
  if (script == nullptr && is_done) recorded(server, all_words, now);
  if (!known || reply.is_error()) return;
  Lock& lock = locks_[{server.number, words[3]}];
  std::map<std::string, Nanos> before;
  if (script == &scripts::force_release) before = lock.holders;
  if (script == &scripts::enter) {
    ++bids_[client_of(named(words, "id"))];
    see_pace(client_of(named(words, "id")));
  }
  if (script == &scripts::enter) entered(server, lock, words, reply);
  const bool told_done = script == &scripts::enter && reply.elements[0].text == "done";
  if (told_done) entered_done(server, lock, words, now);
  const bool had_it = script == &scripts::leave && left(lock, words);
  if (script == &scripts::raise && reply.integer == 1) {
    const store::Fence fence = std::stoull(named(words, "fence"));
    lock.last_fence = std::max(lock.last_fence, fence);
    lock.fences[named(words, "token")] = fence;
  }
  if (script == &scripts::renew && reply.integer == 1) renewed(server, words, now);
  if (script == &scripts::tell) last_words_.insert(words[first_argument]);
  look(server, lock, words, now);
  if (plan_.servers > 1) look_at_majority(words[3]);
  if (script == &scripts::enter) superseded(server, lock, words, reply, now);
  if (script == &scripts::leave) {
    if (had_it) see_min_hold(lock, words, reply);
    note_end(lock, words);
    heard_end(server, words, reply);
  }
  if (script == &scripts::force_release) forced(server, lock, before, words, reply);
  if (script == &scripts::ask_to_stop) asked_to_stop(lock, words, reply);
}

}  // namespace sim
