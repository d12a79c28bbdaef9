#include "cmd/timeline.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>

#include "base/duration.hpp"
#include "base/text.hpp"
#include "cmd/present.hpp"

namespace cmd {
namespace {

using base::Millis;
using Kind = store::RunOutcome::Kind;

constexpr std::size_t gutter = 2;
constexpr std::size_t least_columns = 30;
constexpr std::size_t wide_bars = 80;         // where no width is given
constexpr std::size_t bars_for_lengths = 24;  // with fewer cells, WAITED and HELD are left out

struct Glyphs {
  std::string_view waited, held, brief;
};
constexpr Glyphs glyphs_in_ascii{".", "#", "|"};
constexpr Glyphs glyphs_in_utf8{"░", "█", "▏"};

/// Of a run or a waiter. All times are ago.
struct Row {
  std::string name;
  Millis began, granted, ended;  // began waiting; granted is 0 for a waiter
  std::string_view mark;         // the last cell; empty: none
  std::string outcome;
  Colour colour;
  bool waits = false;

  [[nodiscard]] Millis waited() const { return began - granted; }
  [[nodiscard]] Millis held() const { return granted - ended; }
};

struct Section {
  std::string key;
  std::vector<Row> rows;
};

std::string_view mark_of(const store::RunOutcome& outcome) {
  switch (outcome.kind) {
    case Kind::running: return ">";
    case Kind::lost: return "?";
    case Kind::released: return "";
    case Kind::exited: return outcome.number == 0 ? "" : "x";
    default: return "x";
  }
}

/// Both ends tell holders apart: the host, and what it runs.
std::string short_name(const store::Token& token) {
  const auto parts = token.parts();
  return parts ? base::printable(fmt::format("{}/{}", parts->host, parts->label)) : token.shown();
}

Row row_of(const store::Run& run) {
  const bool goes_on = run.outcome.kind == Kind::running;
  const auto mark = mark_of(run.outcome);
  const auto ended = goes_on ? Millis{0} : run.ended_ago().value_or(run.granted_ago);
  const bool bad = mark == "x" || mark == "?";
  const auto colour = bad ? Colour::bad : mark.empty() ? Colour::good : Colour::none;
  return {short_name(run.token),
          run.granted_ago + run.waited,
          run.granted_ago,
          ended,
          mark,
          shown_outcome(run.outcome),
          colour};
}

Section section_of(const store::LockReport& report) {
  Section section{base::printable(report.name.text()), {}};
  for (const auto& run : report.runs) section.rows.push_back(row_of(run));
  std::stable_sort(section.rows.begin(), section.rows.end(),
                   [](const Row& a, const Row& b) { return a.granted > b.granted; });
  for (const auto& each : report.waiters) {
    const auto since = each.waiting_for.value_or(Millis{0});
    section.rows.push_back({short_name(each.token), since, Millis{0}, Millis{0}, ">", "waiting",
                            Colour::doubtful, true});
  }
  return section;
}

// ---- text in the character set ------------------------------------------------------------------

/// Cut to `width`; in ASCII, each other character becomes '?', and '~' stands for what is cut.
std::string fitted(const std::string& text, std::size_t width, Charset charset) {
  if (charset == Charset::utf8) return base::fit_middle(text, width);
  std::string plain;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) plain += c;
    if (byte >= 0xc0) plain += '?';
  }
  if (plain.size() <= width) return plain;
  const std::size_t end = (width - 1) / 2;
  return plain.substr(0, width - 1 - end) + "~" + plain.substr(plain.size() - end);
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, base::columns_of(text)), ' ');
}

std::string right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, base::columns_of(text)), ' ') + text;
}

// ---- the picture --------------------------------------------------------------------------------

class Picture {
 public:
  Picture(std::vector<Section> sections, const Canvas& canvas)
      : sections_{std::move(sections)},
        canvas_{canvas},
        look_{std::nullopt, canvas.colour},
        glyphs_{canvas.charset == Charset::utf8 ? glyphs_in_utf8 : glyphs_in_ascii} {
    measure();
    divide();
  }

  [[nodiscard]] std::string text() const {
    std::string result =
        line(padded("HOLDER", name_) + blanks() + axis() + blanks(), "WAITED", "HELD", "OUTCOME");
    result = painted(result, Colour::heading, look_) + "\n";
    for (const Section& section : sections_) {
      result += heading(section);
      for (const Row& row : section.rows) result += line_of(row);
    }
    return result + legend();
  }

 private:
  void measure() {
    from_ = Millis{0};
    to_ = Millis::max();
    for_each([&](const Row& row) {
      from_ = std::max(from_, row.began);
      to_ = std::min(to_, row.ended);
      longest_name_ = std::max(longest_name_, base::columns_of(row.name));
      outcome_ = std::max(outcome_, row.outcome.size());
      waited_ = std::max(waited_, base::format_duration(row.waited()).size());
      held_ = std::max(held_, base::format_duration(row.held()).size());
    });
    from_ = std::max(from_, to_ + Millis{1});
  }

  void divide() {
    if (!canvas_.columns) {
      name_ = longest_name_;
      bars_ = wide_bars;
      return;
    }
    name_ = std::min(longest_name_, columns() * 3 / 10);
    const auto fixed = name_ + gutter + gutter + outcome_;
    const auto lengths = waited_ + gutter + held_ + gutter;
    shows_lengths_ = columns() >= fixed + lengths + bars_for_lengths;
    bars_ = columns() - fixed - (shows_lengths_ ? lengths : 0);
  }

  template <class Do>
  void for_each(const Do& act) const {
    for (const Section& section : sections_)
      std::for_each(section.rows.begin(), section.rows.end(), act);
  }

  static std::string blanks() {
    std::string text(gutter, ' ');
    return text;
  }

  [[nodiscard]] std::string line(std::string text, const std::string& waited,
                                 const std::string& held, const std::string& outcome) const {
    if (shows_lengths_) text += right(waited, waited_) + blanks() + right(held, held_) + blanks();
    return text + outcome;
  }

  /// Between which two cells a moment lies: 0 to bars_.
  [[nodiscard]] std::size_t edge(Millis ago) const {
    const auto cells = static_cast<double>(bars_);
    const auto part =
        static_cast<double>((from_ - ago).count()) / static_cast<double>((from_ - to_).count());
    return static_cast<std::size_t>(std::clamp(part * cells + 0.5, 0.0, cells));
  }

  static std::string cells(std::size_t count, std::string_view glyph, std::string_view mark) {
    std::string text;
    for (std::size_t i = mark.empty() ? 0 : 1; i < count; ++i) text += glyph;
    return count > 0 ? text + std::string{mark} : text;
  }

  /// Two runs that follow each other share no cell, for the one begins at the edge where the other
  /// ends. A run that is shorter than a cell takes one.
  [[nodiscard]] std::string bar_of(const Row& row) const {
    auto granted = edge(row.granted);
    auto ended = edge(row.ended);
    const bool brief = granted >= ended;
    if (row.waits) {
      granted = ended = bars_;
    } else if (brief) {
      granted = std::min(granted, bars_ - 1);
      ended = granted + 1;
    }
    const auto began = std::min(edge(row.began), row.waits ? bars_ - 1 : granted);
    const auto waited = cells(granted - began, glyphs_.waited, row.waits ? row.mark : "");
    const auto held =
        cells(ended - granted, brief ? glyphs_.brief : glyphs_.held, row.waits ? "" : row.mark);
    return std::string(began, ' ') + painted(waited, Colour::doubtful, look_) +
           painted(held, row.colour, look_) + std::string(bars_ - ended, ' ');
  }

  [[nodiscard]] std::string line_of(const Row& row) const {
    const bool no_length = row.waits || (row.mark == "?" && row.held() == Millis{0});
    return line(padded(fitted(row.name, name_, canvas_.charset), name_) + blanks() + bar_of(row) +
                    blanks(),
                base::format_duration(row.waited()),
                no_length ? "-" : base::format_duration(row.held()),
                painted(row.outcome, row.colour, look_)) +
           "\n";
  }

  // ---- the axis -------------------------------------------------------------------------------

  [[nodiscard]] std::tm local(Millis ago) const {
    const auto then = std::chrono::system_clock::to_time_t(
        std::chrono::time_point_cast<std::chrono::system_clock::duration>(canvas_.now - ago));
    std::tm local{};
    ::localtime_r(&then, &local);
    return local;
  }

  /// "|14:05   |14:10": a bar stands at the moment that the time behind it names.
  [[nodiscard]] std::string axis() const {
    static constexpr Millis second{1'000};
    static constexpr Millis minute = 60 * second;
    static constexpr Millis hour = 60 * minute;
    static constexpr Millis day = 24 * hour;
    constexpr std::array steps{
        second,     2 * second,  5 * second,  10 * second, 30 * second, minute,   2 * minute,
        5 * minute, 10 * minute, 15 * minute, 30 * minute, hour,        2 * hour, 3 * hour,
        6 * hour,   12 * hour,   day,         2 * day,     7 * day,     14 * day, 28 * day};
    const auto span = from_ - to_;
    const auto width_of = [](Millis step) { return step < minute ? 9U : 6U; };  // with its bar
    const auto fits = [&](Millis step) {
      return static_cast<double>(bars_) * static_cast<double>(step.count()) >=
             static_cast<double>((width_of(step) + 1) * span.count());
    };
    const auto found = std::find_if(steps.begin(), steps.end(), fits);
    const auto step = found == steps.end() ? steps.back() : *found;

    std::string text;
    const auto offset = Millis{local(from_).tm_gmtoff * 1'000L};
    const auto begin = canvas_.now.time_since_epoch() - from_ + offset;
    for (auto tick = begin / step * step; tick <= begin + span; tick += step) {
      if (tick < begin) continue;
      const auto ago = from_ - (tick - begin);
      const auto at = edge(ago);
      // Daylight saving time may move the midnights of later days to 23:00.
      const auto time = local(step >= day ? ago - 2 * hour : ago);
      const bool is_midnight = time.tm_hour == 0 && time.tm_min == 0 && step >= minute;
      const auto label = step >= day || is_midnight ? fmt::format("|{:%m-%d}", time)
                         : step >= minute           ? fmt::format("|{:%H:%M}", time)
                                                    : fmt::format("|{:%H:%M:%S}", time);
      if (at < text.size() || at + label.size() > bars_) continue;
      text.resize(at, ' ');
      text += label;
    }
    return padded(text, bars_);
  }

  // ---- what is said in words ------------------------------------------------------------------

  /// The part of the axis that the bars of this section cover, in percent.
  [[nodiscard]] long held_percent(const std::vector<Row>& rows) const {
    Millis covered{0};
    Millis until = from_;  // ago: rows are sorted by their grant
    for (const Row& row : rows) {
      if (row.waits) continue;
      const auto granted = std::min(row.granted, until);
      if (granted > row.ended) covered += granted - row.ended;
      until = std::min(until, row.ended);
    }
    return static_cast<long>((200 * covered / (from_ - to_) + 1) / 2);
  }

  /// The parts, two blanks between them; a line ends between two parts.
  [[nodiscard]] std::string in_lines(const std::vector<std::string>& parts) const {
    std::string lines;
    std::size_t at = 0;
    for (const auto& part : parts) {
      const auto width = base::columns_of(part);
      const bool fits = !canvas_.columns || at + gutter + width <= columns();
      if (at > 0) lines += fits ? blanks() : "\n";
      at = at > 0 && fits ? at + gutter + width : width;
      lines += part;
    }
    return lines + "\n";
  }

  [[nodiscard]] std::size_t columns() const { return std::max(*canvas_.columns, least_columns); }

  [[nodiscard]] std::string heading(const Section& section) const {
    const auto& rows = section.rows;
    const auto room = canvas_.columns ? columns() : base::columns_of(section.key);
    const auto key = painted(fitted(section.key, room, canvas_.charset), Colour::heading, look_);
    const auto runs =
        std::count_if(rows.begin(), rows.end(), [](auto& each) { return !each.waits; });
    const auto waiting = static_cast<long>(rows.size()) - runs;
    const auto longest = [&](auto length_of) {
      Millis most{0};
      for (const Row& row : rows) most = std::max(most, length_of(row));
      return most;
    };
    const auto percent = held_percent(rows);
    std::vector<std::string> said{fmt::format(
        "{} {} held it {} % of {}", runs, runs == 1 ? "run" : "runs",
        percent == 0 ? "<1" : std::to_string(percent), base::format_duration(from_ - to_))};
    const auto length = [](const Row& row) { return row.waits ? Millis{0} : row.held(); };
    said.push_back("longest run " + base::format_duration(longest(length)));
    const auto wait = longest([](const Row& row) { return row.waited(); });
    if (wait > Millis{0}) said.push_back("longest wait " + base::format_duration(wait));
    if (waiting > 0) said.push_back(fmt::format("{} waiting now", waiting));
    return key + "\n" + in_lines(said);
  }

  template <class Predicate>
  [[nodiscard]] bool has(const Predicate& predicate) const {
    bool any = false;
    for_each([&](const Row& row) { any = any || predicate(row); });
    return any;
  }

  [[nodiscard]] std::string legend() const {
    const auto day = [](const std::tm& time) { return fmt::format("{:%Y-%m-%d }", time); };
    const auto begin = local(from_);
    const auto end = local(to_);
    const auto times =
        in_lines({fmt::format("from {}{:%H:%M:%S}", day(begin), begin),
                  fmt::format("to {}{:%H:%M:%S}", day(begin) == day(end) ? "" : day(end), end)});
    std::vector<std::string> parts{fmt::format("{} held", glyphs_.held)};
    if (has([](const Row& row) { return row.waited() > Millis{0}; })) {
      parts.push_back(fmt::format("{} waited", glyphs_.waited));
    }
    if (has([&](const Row& row) {
          return !row.waits && row.mark.empty() && edge(row.granted) >= edge(row.ended);
        })) {
      parts.push_back(fmt::format("{} briefly", glyphs_.brief));
    }
    const auto has_mark = [&](std::string_view mark) {
      return has([&](const Row& row) { return row.mark == mark; });
    };
    if (has_mark("x")) parts.emplace_back("x failed");
    if (has_mark("?")) parts.emplace_back("? lost");
    if (has_mark(">")) parts.emplace_back("> goes on");
    return times + in_lines(parts);
  }

  std::vector<Section> sections_;
  Canvas canvas_;
  Look look_;
  Glyphs glyphs_;
  Millis from_{}, to_{};  // ago
  std::size_t longest_name_ = std::string_view{"HOLDER"}.size();
  std::size_t outcome_ = std::string_view{"OUTCOME"}.size();
  std::size_t waited_ = std::string_view{"WAITED"}.size();
  std::size_t held_ = std::string_view{"HELD"}.size();
  std::size_t name_ = 0, bars_ = 0;
  bool shows_lengths_ = true;
};

}  // namespace

Charset charset_of(std::string_view lc_all, std::string_view lc_ctype, std::string_view lang) {
  const auto locale = !lc_all.empty() ? lc_all : !lc_ctype.empty() ? lc_ctype : lang;
  std::string name;
  for (const char c : locale) {
    if (c != '-') name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name.find("utf8") != std::string::npos ? Charset::utf8 : Charset::ascii;
}

std::string timeline(const std::vector<store::LockReport>& reports, const Canvas& canvas) {
  std::vector<Section> sections;
  for (const auto& report : reports) {
    if (!report.runs.empty() || !report.waiters.empty()) sections.push_back(section_of(report));
  }
  return sections.empty() ? std::string{} : Picture{std::move(sections), canvas}.text();
}

}  // namespace cmd
