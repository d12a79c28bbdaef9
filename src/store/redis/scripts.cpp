#include "store/redis/scripts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/fields.hpp"
#include "base/text.hpp"

namespace store::redis {
namespace {

constexpr std::string_view shared = "shared";
constexpr std::string_view permits = "permits=";
constexpr std::string_view one_of = "one-of=";
// A blank separates an id's mode, and no name contains a tab.
constexpr char blank_in_name = '\t';

// Anybody may write any number on a server. To a waiter a century is as good as forever, and it
// does not overflow in nanoseconds.
constexpr std::int64_t longest_ms = std::int64_t{1000} * 60 * 60 * 24 * 365 * 100;

}  // namespace

Arguments& Arguments::say(const char* name, std::string value) {
  words_.emplace_back(name);
  words_.push_back(std::move(value));
  return *this;
}

Arguments& Arguments::say(const char* name, Millis length) {
  return say(name, std::to_string(length.count()));
}

Arguments& Arguments::say(const char* name, std::uint64_t number) {
  return say(name, std::to_string(number));
}

Reply Fields::operator[](std::string_view name) const {
  for (std::size_t i = first_; i + 1 < reply_.size(); i += 2) {
    if (reply_[i].text() == name) return reply_[i + 1];
  }
  return reply_[reply_.size()];
}

Millis length_in(const Reply& field) {
  return Millis{std::clamp<std::int64_t>(field.integer(), 0, longest_ms)};
}

std::optional<Millis> length_if_in(const Reply& field) {
  return field.is_integer() ? std::optional{length_in(field)} : std::nullopt;
}

std::optional<Holder> holder_in(const Reply& fields) {
  const Fields one{fields};
  const Reply kind = one["kind"];
  if (kind.text().empty()) return std::nullopt;
  Holder holder{Holder::Kind::foreign, std::string{one["token"].text()}, {}, {}};
  if (kind.text() == "holder") holder.kind = Holder::Kind::holder;
  if (kind.text() == "kept") holder.kind = Holder::Kind::kept;
  if (kind.text() == "reserved") holder.kind = Holder::Kind::reserved;
  holder.expires_in = length_if_in(one["left"]);
  holder.held_for = length_if_in(one["held"]);
  if (const auto more = one["more"].integer(); more > 0) {
    holder.others = static_cast<std::size_t>(more);
  }
  holder.reason = one["reason"].text();
  return holder;
}

unsigned number_in(const Reply& field) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(field.integer(), 0, 1'000'000'000));
}

std::optional<Fence> unsigned_in(const Reply& field) {
  return base::number_in<Fence>(field.text());
}

Mode mode_in(std::string_view text) {
  if (text == shared) return {Mode::Kind::shared};
  if (text.starts_with(one_of)) {
    std::string list{text.substr(one_of.size())};
    std::replace(list.begin(), list.end(), blank_in_name, ' ');
    Mode mode{Mode::Kind::permits};
    mode.names = permit_names_in(list).value_or(std::vector<std::string>{});
    mode.permits = static_cast<unsigned>(std::max<std::size_t>(mode.names.size(), 1));
    return mode;
  }
  if (!text.starts_with(permits)) return {};
  const auto number = base::number_in<unsigned>(text.substr(permits.size()));
  // Only a foreign client writes another number. It must not become a divisor.
  return {Mode::Kind::permits, std::clamp(number.value_or(1), 1U, Mode::most_permits)};
}

std::string queue_id(const Token& token, const Mode& mode) {
  switch (mode.kind) {
    case Mode::Kind::exclusive: break;
    case Mode::Kind::shared: return std::string{shared} + ' ' + token.text();
    case Mode::Kind::permits:
      if (mode.names.empty()) {
        return std::string{permits} + std::to_string(mode.permits) + ' ' + token.text();
      }
      std::string list = fmt::format("{}", fmt::join(mode.names, ","));
      std::replace(list.begin(), list.end(), ' ', blank_in_name);
      return std::string{one_of} + list + ' ' + token.text();
  }
  return token.text();
}

std::pair<Token, Mode> waiter_in(std::string_view id) {
  // Our tokens have no space before the label, and '@' comes before that.
  const auto space = id.find(' ');
  const Mode mode = mode_in(id.substr(0, std::min(space, id.size())));
  const auto token = mode == Mode{} ? id : id.substr(space + 1);
  return {Token::foreign(std::string{token}), mode};
}

Fault nonsense() {
  return {Fault::Kind::unusable, "an unexpected answer"};
}

}  // namespace store::redis
