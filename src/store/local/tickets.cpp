#include "store/local/tickets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "store/local/queue_files.hpp"

namespace store::local {
namespace {

// So many of both have room in an outline as long as tickets have nine digits.
constexpr std::size_t most_holders = 16;
constexpr std::size_t most_spans = 64;

using Span = Tickets::Span;

/// The numbers of a text, one after the other.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : all_{numbers_in(text)} {}
  /// 0 where there is none: it is no fence, no ticket and no length.
  std::uint64_t next() { return at_ < all_.size() ? all_[at_++] : 0; }
  [[nodiscard]] bool is_at_end() const { return at_ == all_.size(); }

 private:
  std::vector<std::uint64_t> all_;
  std::size_t at_ = 0;
};

}  // namespace

std::size_t Tickets::span_at(std::uint64_t ticket) const {
  const auto at =
      std::lower_bound(spans_.begin(), spans_.end(), ticket,
                       [](const Span& each, auto number) { return each.last < number; });
  return static_cast<std::size_t>(at - spans_.begin());
}

void Tickets::add(std::uint64_t ticket) {
  if (has(ticket)) return;
  const auto index = span_at(ticket);
  const auto at = spans_.begin() + static_cast<std::ptrdiff_t>(index);
  const bool after_one = index > 0 && spans_[index - 1].last + 1 == ticket;
  const bool before_one = at != spans_.end() && at->first == ticket + 1;
  if (after_one && before_one) {
    spans_[index - 1].last = at->last;
    spans_.erase(at);
  } else if (after_one) {
    spans_[index - 1].last = ticket;
  } else if (before_one) {
    at->first = ticket;
  } else {
    spans_.insert(at, Span{ticket, ticket});
  }
}

void Tickets::remove(std::uint64_t ticket) {
  if (!has(ticket)) return;
  mark_waiter(ticket);
  const auto at = spans_.begin() + static_cast<std::ptrdiff_t>(span_at(ticket));
  const Span before{at->first, ticket - 1};
  const Span after{ticket + 1, at->last};
  const bool is_first = at->first == ticket;
  const bool is_last = at->last == ticket;
  if (is_first && is_last) {
    spans_.erase(at);
  } else if (is_first) {
    *at = after;
  } else {
    *at = before;
    if (!is_last) spans_.insert(at + 1, after);
  }
}

void Tickets::mark_holder(std::uint64_t ticket) {
  if (!has(ticket)) return;
  const auto at = std::lower_bound(holders_.begin(), holders_.end(), ticket);
  if (at == holders_.end() || *at != ticket) holders_.insert(at, ticket);
}

void Tickets::mark_waiter(std::uint64_t ticket) {
  std::erase(holders_, ticket);
}

bool Tickets::has(std::uint64_t ticket) const {
  const auto index = span_at(ticket);
  return index < spans_.size() && spans_[index].first <= ticket;
}

bool Tickets::is_holder(std::uint64_t ticket) const {
  return std::binary_search(holders_.begin(), holders_.end(), ticket);
}

std::optional<std::uint64_t> Tickets::first_from(std::uint64_t ticket) const {
  const auto index = span_at(ticket);
  if (index == spans_.size()) return std::nullopt;
  return std::max(spans_[index].first, ticket);
}

std::optional<std::uint64_t> Tickets::last_before(std::uint64_t ticket) const {
  const auto index = span_at(ticket);
  if (index < spans_.size() && spans_[index].first < ticket) return ticket - 1;
  if (index == 0) return std::nullopt;
  return spans_[index - 1].last;
}

std::size_t Tickets::waiters_before(std::uint64_t ticket) const {
  std::uint64_t count = 0;
  for (const Span& each : spans_) {
    if (each.first >= ticket) break;
    count += std::min(each.last, ticket - 1) - each.first + 1;
  }
  const auto holders = std::lower_bound(holders_.begin(), holders_.end(), ticket);
  return static_cast<std::size_t>(count) - static_cast<std::size_t>(holders - holders_.begin());
}

void Tickets::fill_gaps(std::size_t most) {
  if (spans_.size() <= most) return;
  const auto gap = [&](std::size_t before) {
    return spans_[before].first - spans_[before - 1].last;
  };
  std::vector<std::size_t> gaps(spans_.size() - 1);
  for (std::size_t i = 0; i < gaps.size(); ++i) gaps[i] = i + 1;
  const auto kept = gaps.begin() + static_cast<std::ptrdiff_t>(most - 1);
  std::nth_element(gaps.begin(), kept, gaps.end(), [&](auto a, auto b) { return gap(a) > gap(b); });
  std::sort(gaps.begin(), kept);
  std::vector<Span> spans;
  std::size_t first = 0;
  for (auto each = gaps.begin(); each != kept; ++each) {
    spans.push_back({spans_[first].first, spans_[*each - 1].last});
    first = *each;
  }
  spans.push_back({spans_[first].first, spans_.back().last});
  spans_ = std::move(spans);
}

// Three numbers, how many hold, these, and then the spans: how far each begins beyond the end of
// the one before it, and how many it has.
std::string text_of(Outline outline) {
  Tickets& tickets = outline.tickets;
  if (tickets.holders().size() > most_holders) return "";
  tickets.fill_gaps(most_spans);
  auto text = fmt::format("{} {} {} {}", outline.last_fence, outline.last_ticket,
                          outline.changed_at, tickets.holders().size());
  for (const std::uint64_t each : tickets.holders()) text += fmt::format(" {}", each);
  std::uint64_t end = 0;
  for (const Span& each : tickets.spans()) {
    text += fmt::format(" {} {}", each.first - end, each.last - each.first + 1);
    end = each.last;
  }
  return text.size() <= longest_outline ? text : "";
}

std::optional<Outline> outline_in(std::string_view text) {
  Numbers numbers{text};
  Outline outline{numbers.next(), numbers.next(), numbers.next(), {}};
  std::vector<std::uint64_t> holders(std::min(numbers.next(), std::uint64_t{most_holders}));
  for (std::uint64_t& each : holders) each = numbers.next();
  std::vector<Span> spans;
  std::uint64_t end = 0;
  while (!numbers.is_at_end()) {
    const auto gap = numbers.next();
    const auto length = numbers.next();
    const auto room = outline.last_ticket - end;
    if (gap == 0 || length == 0 || gap > room || length - 1 > room - gap) return std::nullopt;
    spans.push_back({end + gap, end + gap + length - 1});
    end = spans.back().last;
  }
  outline.tickets = Tickets{std::move(spans)};
  for (const std::uint64_t each : holders) {
    if (!outline.tickets.has(each)) return std::nullopt;
    outline.tickets.mark_holder(each);
  }
  if (outline.last_ticket == 0 || outline.changed_at == 0) return std::nullopt;
  return outline;
}

}  // namespace store::local
