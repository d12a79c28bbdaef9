#include "store/local/queue_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "os/error.hpp"

namespace store::local {
namespace {

// The kinds by number, as they have been written since the first version.
constexpr std::uint64_t exclusive = 0;
constexpr std::uint64_t shared = 1;
constexpr std::uint64_t permits = 2;
constexpr std::uint64_t named_permits = 3;

std::uint64_t number_of(const Mode& mode) {
  if (!mode.names.empty()) return named_permits;
  switch (mode.kind) {
    case Mode::Kind::exclusive: return exclusive;
    case Mode::Kind::shared: return shared;
    case Mode::Kind::permits: break;
  }
  return permits;
}

std::optional<Mode> mode_of(std::uint64_t kind, std::uint64_t number) {
  if (kind == exclusive) return Mode{};
  if (kind == shared) return Mode{Mode::Kind::shared};
  if (kind != permits || number < 2 || number > Mode::most_permits) return std::nullopt;
  return Mode{Mode::Kind::permits, static_cast<unsigned>(number)};
}

// Beside each pipe: who it is, and once it holds, since when and with which fence.
constexpr const char* who = ".who";
constexpr const char* grant = ".grant";
// A thousand permits with names of a kilobyte.
constexpr std::size_t longest_text = std::size_t{1} << 20;

std::string file_of(std::uint64_t ticket, const char* suffix) {
  return twenty_digits(ticket) + suffix;
}

}  // namespace

WallTime wall_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<Millis>(now).count();
}

WallTime wall_time(std::uint64_t number) {
  constexpr std::uint64_t latest = 253'402'300'799'999;  // 9999-12-31T23:59:59.999Z
  return static_cast<WallTime>(std::min(number, latest));
}

std::vector<std::uint64_t> numbers_in(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at != end) {
    if (*at == ' ' || *at == '\n') {
      ++at;
      continue;
    }
    std::uint64_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) return {};
    if (stop != end && *stop != ' ' && *stop != '\n') return {};
    numbers.push_back(number);
    at = stop;
  }
  return numbers;
}

std::string twenty_digits(std::uint64_t number) {
  return fmt::format("{:020}", number);
}

std::string text_of(const QueueEntry& entry) {
  const std::string names = fmt::format("{}", fmt::join(entry.mode.names, ","));
  return fmt::format("{} {} {}\n{}{}{}{}{}", number_of(entry.mode), entry.mode.permits, entry.since,
                     names, names.empty() ? "" : "\n", entry.token.text(),
                     entry.slot.empty() ? "" : "\n", entry.slot);
}

std::optional<QueueEntry> entry_in(std::string_view text) {
  const auto line = text.find('\n');
  if (line == std::string_view::npos) return std::nullopt;
  const auto numbers = numbers_in(text.substr(0, line));
  if (numbers.size() != 3) return std::nullopt;
  text.remove_prefix(line + 1);
  auto mode = mode_of(numbers[0], numbers[1]);
  if (numbers[0] == named_permits) {
    const auto end = text.find('\n');
    auto names = permit_names_in(text.substr(0, end));
    if (!names || end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + 1);
    const auto number = static_cast<unsigned>(names->size());
    mode = Mode{Mode::Kind::permits, number, *std::move(names)};
  }
  if (!mode) return std::nullopt;
  const auto end = std::min(text.find('\n'), text.size());
  return QueueEntry{0,
                    Token::foreign(std::string{text.substr(0, end)}),
                    *mode,
                    wall_time(numbers[2]),
                    std::nullopt,
                    std::nullopt,
                    std::string{text.substr(std::min(end + 1, text.size()))}};
}

std::optional<TicketNames> ticket_in(std::string_view file) {
  const auto dot = std::min(file.find('.'), file.size());
  const auto numbers = numbers_in(file.substr(0, dot));
  if (numbers.size() != 1) return std::nullopt;
  return TicketNames{numbers[0], file.substr(dot) == grant};
}

void put_in_order(std::vector<TicketNames>& tickets) {
  // Of one ticket, the name that says that it holds comes first.
  std::sort(tickets.begin(), tickets.end(), [](const TicketNames& a, const TicketNames& b) {
    return a.ticket != b.ticket ? a.ticket < b.ticket : a.granted && !b.granted;
  });
  const auto same = [](const TicketNames& a, const TicketNames& b) { return a.ticket == b.ticket; };
  tickets.erase(std::unique(tickets.begin(), tickets.end(), same), tickets.end());
}

os::PipeName QueueFiles::pipe_of(std::uint64_t ticket) const {
  return {directory_, file_of(ticket, "")};
}

os::Result<std::vector<TicketNames>> QueueFiles::list() const {
  std::vector<TicketNames> tickets;
  auto read = directory_.for_each_name([&](std::string_view file) {
    if (auto names = ticket_in(file)) tickets.push_back(*names);
  });
  if (!read) return std::move(read).error();
  put_in_order(tickets);
  return tickets;
}

std::optional<QueueEntry> QueueFiles::read(std::uint64_t ticket) const {
  const auto text = directory_.contents_of(file_of(ticket, who), longest_text);
  auto entry = text ? entry_in(*text) : std::nullopt;
  if (!entry) return std::nullopt;
  entry->ticket = ticket;
  const auto granted = directory_.contents_of(file_of(ticket, grant), longest_text);
  if (!granted && granted.error().number == ENOENT) return entry;
  // A grant that we may not read, that the disk does not return or that is damaged is one
  // nevertheless.
  const auto numbers = numbers_in(granted ? *granted : "");
  entry->fence = unknown_fence;
  if (numbers.size() < 3) return entry;
  entry->fence = numbers[0];
  entry->since = wall_time(numbers[1]);
  if (numbers[2] != 0) entry->kept_until = wall_time(numbers[2]);
  if (numbers.size() > 3 && numbers[3] <= Mode::most_permits) {
    entry->permit = static_cast<unsigned>(numbers[3]);
  }
  return entry;
}

std::optional<QueueEntry> QueueFiles::read_live(const TicketNames& names) const {
  auto entry = read(names.ticket);
  const bool kept = entry && entry->kept_until && *entry->kept_until > wall_now();
  if (!kept && !os::is_owned(pipe_of(names.ticket))) return std::nullopt;
  if (entry) return entry;
  const auto fence = names.granted ? std::optional{unknown_fence} : std::nullopt;
  return QueueEntry{names.ticket, Token::foreign("(unreadable)"), Mode{}, wall_now(), fence,
                    std::nullopt};
}

os::Result<os::NamedPipe> QueueFiles::create(const QueueEntry& entry) const {
  // The pipe comes last: with it, the entry exists.
  auto written = directory_.write_contents(file_of(entry.ticket, who), text_of(entry));
  if (!written) {
    remove(entry.ticket);
    return std::move(written).error();
  }
  auto pipe = os::NamedPipe::create(directory_, file_of(entry.ticket, ""));
  if (!pipe) remove(entry.ticket);
  return pipe;
}

bool QueueFiles::is_granted(std::uint64_t ticket) const {
  return directory_.has(file_of(ticket, grant));
}

os::Result<os::Done> QueueFiles::write_grant(const QueueEntry& entry) const {
  const auto kept = static_cast<std::uint64_t>(entry.kept_until.value_or(0));
  const auto since = static_cast<std::uint64_t>(entry.since);
  const auto text = fmt::format("{} {} {} {}\n", twenty_digits(entry.fence.value_or(0)),
                                twenty_digits(since), twenty_digits(kept), entry.permit);
  return directory_.write_contents(file_of(entry.ticket, grant), text);
}

void QueueFiles::remove_grant(std::uint64_t ticket) const {
  directory_.remove(file_of(ticket, grant));
}

void QueueFiles::remove(std::uint64_t ticket) const {
  // The pipe goes first: files without one are litter, which the next process removes.
  for (const char* suffix : {"", os::NamedPipe::unfinished, grant, who}) {
    directory_.remove(file_of(ticket, suffix));
  }
}

}  // namespace store::local
