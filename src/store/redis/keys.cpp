#include "store/redis/keys.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace store::redis {
namespace {

constexpr std::string_view infix = ":rlock:";
// Arbitrary text may follow these.
constexpr std::array<std::string_view, 2> open_kinds{":rlock:mail:", ":rlock:slot:"};

/// Redis Cluster hashes the text between the first '{' and the next '}', if not empty (cluster
/// specification, "Hash tags").
bool has_tag(std::string_view key) {
  const auto open = key.find('{');
  if (open == std::string_view::npos) return false;
  const auto close = key.find('}', open + 1);
  return close != std::string_view::npos && close > open + 1;
}

// Not a brace: "{x}{}" is the stem of the untagged "x}{".
constexpr char spacer = '.';

/// Whether a text is "{K}" of an untagged K, followed by any number of spacers.
bool looks_like_stem(std::string_view text) {
  while (text.ends_with(spacer)) text.remove_suffix(1);
  return text.size() > 2 && text.front() == '{' && text.back() == '}' &&
         !has_tag(text.substr(1, text.size() - 2));
}

std::string stem_of(std::string_view key) {
  if (!has_tag(key)) return '{' + std::string{key} + '}';
  return std::string{key}.append(looks_like_stem(key) ? 1 : 0, spacer);
}

std::string_view key_of(std::string_view stem) {
  if (!looks_like_stem(stem)) return stem;
  if (stem.ends_with(spacer)) return stem.substr(0, stem.size() - 1);
  return stem.substr(1, stem.size() - 2);
}

std::optional<LockName> lock_of_stem(std::string_view stem) {
  if (!has_tag(stem) && !looks_like_stem(stem)) return std::nullopt;
  return LockName::from(key_of(stem));
}

/// The lock of a key that ends in arbitrary text.
std::optional<LockName> lock_of_open_kind(std::string_view key) {
  for (const auto kind : open_kinds) {
    const auto at = key.find(kind);
    if (at == std::string_view::npos) continue;
    if (auto owner = lock_of_stem(key.substr(0, at))) return owner;
  }
  return std::nullopt;
}

/// The lock of a key of one of these kinds; not of an open kind that ends like them.
std::optional<LockName> lock_of_kind(std::string_view key,
                                     std::initializer_list<std::string_view> kinds) {
  if (lock_of_open_kind(key)) return std::nullopt;
  const auto end = key.rfind(infix);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view kind = key.substr(end + infix.size());
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) return std::nullopt;
  return lock_of_stem(key.substr(0, end));
}

}  // namespace

LockKeys::LockKeys(const LockName& name) {
  const std::string prefix = stem_of(name.text()) + std::string{infix};
  queue = prefix + "queue";
  alive = prefix + "alive";
  fence = prefix + "fence";
  held = prefix + "held";
  grants = prefix + "grants";
  runs = prefix + "runs";
  slot = prefix + "slot:";
  mailbox = prefix + "mail:";
}

std::optional<LockName> owner_of_key(std::string_view key) {
  if (auto owner = lock_of_open_kind(key)) return owner;
  return lock_of_kind(key, {"queue", "alive", "fence", "held", "grants", "runs"});
}

std::optional<LockName> lock_listed_by(std::string_view key, Listed which) {
  switch (which) {
    case Listed::in_use: return lock_of_kind(key, {"fence", "queue"});
    case Listed::remembered: return lock_of_kind(key, {"runs"});
    case Listed::known: break;
  }
  return lock_of_kind(key, {"fence", "queue", "runs"});
}

std::string_view glob_of(Listed which) {
  switch (which) {
    case Listed::in_use: return "*:rlock:[fq]*";
    case Listed::remembered: return "*:rlock:runs";
    case Listed::known: break;
  }
  return "*:rlock:[fqr]*";
}

}  // namespace store::redis
