#include "cmd/table.hpp"

#include <algorithm>
#include <numeric>

#include "base/text.hpp"
#include "os/stdio.hpp"

namespace cmd {
namespace {

// This much of a key or a holder is useful; if not even that fits, other columns are left out.
constexpr std::size_t least_of_cut = 12;
// A text in a narrower column has more lines than one can read at a glance.
constexpr std::size_t least_of_flow = 24;
constexpr std::size_t gap = 2;

using Widths = std::vector<std::size_t>;  // 0: the column is left out

bool flows(const Column& column) {
  return column.kind == Column::Kind::flows;
}

bool gives_way(const Column& column) {
  return column.kind == Column::Kind::cut_middle || column.kind == Column::Kind::cut_end ||
         flows(column);
}

std::size_t least_of(const Column& column) {
  return flows(column) ? least_of_flow : least_of_cut;
}

std::size_t total(const Widths& widths) {
  const auto shown = static_cast<std::size_t>(
      std::count_if(widths.begin(), widths.end(), [](std::size_t each) { return each > 0; }));
  const auto sum = std::accumulate(widths.begin(), widths.end(), std::size_t{0});
  return sum + gap * (shown > 0 ? shown - 1 : 0);
}

/// The flexible columns share the rest of the width; none gets more than it needs.
void share(Widths& widths, const std::vector<Column>& columns, std::size_t all) {
  Widths least = widths;
  std::vector<std::size_t> sharing;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == 0 || !gives_way(columns[i])) continue;
    least[i] = std::min(widths[i], least_of(columns[i]));
    sharing.push_back(i);
  }
  int most = 0;
  for (const Column& each : columns) most = std::max(most, each.left_out);
  for (int goes = 1; goes <= most && total(least) > all; ++goes) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (columns[i].left_out == goes) widths[i] = least[i] = 0;
    }
  }
  // The fixed widths and the gaps; each of the other columns is at least one character wide.
  Widths fixed = widths;
  for (const auto i : sharing) fixed[i] = 1;
  std::size_t room = all > total(fixed) ? all - total(fixed) + sharing.size() : sharing.size();
  std::sort(sharing.begin(), sharing.end(),
            [&](std::size_t a, std::size_t b) { return widths[a] < widths[b]; });
  for (std::size_t n = sharing.size(); n > 0; --n) {
    std::size_t& width = widths[sharing[sharing.size() - n]];
    width = std::min(width, std::max<std::size_t>(room / n, 1));
    room -= std::min(room, width);
  }
}

/// Whether the last column has room beside the others, of which the first to go may be left out.
bool fits_beside(const Widths& widths, const std::vector<Column>& columns, std::size_t all) {
  Widths least = widths;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (columns[i].left_out == 1) least[i] = 0;
    if (gives_way(columns[i])) least[i] = std::min(widths[i], least_of(columns[i]));
  }
  return total(least) <= all;
}

std::string cut(const std::string& text, const Column& column, std::size_t width) {
  if (flows(column)) return base::lines_within(text, width, base::LongWord::divided).front();
  return column.kind == Column::Kind::cut_middle ? base::fit_middle(text, width)
                                                 : base::fit_columns(text, width);
}

bool may_colour(const Settings& settings, bool terminal) {
  const auto setting = settings.value("color");
  if (setting.text == "always") return true;
  if (setting.text == "never") return false;
  if (setting.text != "auto") throw not_accepted(setting, "auto, always or never");
  // https://no-color.org: set to whatever, and not empty.
  return terminal && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

}  // namespace

Look look_of(const Settings& settings) {
  const auto size = os::stdout_size();
  Look look{std::nullopt, may_colour(settings, os::stdout_is_terminal())};
  if (size && !settings.is_on("wide")) look.columns = size->columns;
  return look;
}

std::string painted(std::string_view text, Colour colour, const Look& look) {
  if (!look.colour || colour == Colour::none || text.empty()) return std::string{text};
  // ECMA-48 SGR: the eight colours, as the user's terminal shows them.
  const auto code = [&] {
    switch (colour) {
      case Colour::good: return "32";
      case Colour::doubtful: return "33";
      case Colour::bad: return "31";
      default: return "1";
    }
  };
  return fmt::format("\x1b[{}m{}\x1b[0m", code(), text);
}

std::string Table::text(const Look& look) const {
  Widths widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!columns_[i].shown) {
      widths.push_back(0);
      continue;
    }
    std::size_t width = base::columns_of(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, base::columns_of(row[i].text));
    widths.push_back(width);
  }
  const bool narrow = look.columns && total(widths) > *look.columns;
  const bool below =
      narrow && flows(columns_.back()) && !fits_beside(widths, columns_, *look.columns);
  if (below) widths.back() = 0;
  if (narrow && total(widths) > *look.columns) share(widths, columns_, *look.columns);

  std::string result;
  // Ends the lines with the rest of the last cell.
  const auto rest = [&](const Cell& last) {
    if (!narrow || !flows(columns_.back()) || last.text.empty()) return;
    const std::size_t column = below ? gap : total(widths) - widths.back();
    const auto lines = base::lines_within(
        last.text, *look.columns - std::min(column, *look.columns), base::LongWord::divided);
    for (std::size_t i = below ? 0 : 1; i < lines.size(); ++i) {
      result += std::string(column, ' ') + painted(lines[i], last.colour, look) + "\n";
    }
  };
  const auto line = [&](const auto& cell_of) {
    std::string blanks;
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) continue;
      const Cell cell = cell_of(i);
      const std::string shown = cut(cell.text, columns_[i], widths[i]);
      const std::string padding(widths[i] - std::min(widths[i], base::columns_of(shown)), ' ');
      const bool right = columns_[i].kind == Column::Kind::right;
      if (right) blanks += padding;
      if (!shown.empty()) {
        text += blanks + painted(shown, cell.colour, look);
        blanks.clear();
      }
      if (!right) blanks += padding;
      blanks.append(gap, ' ');
    }
    result += text + "\n";
  };
  line([&](std::size_t i) { return Cell{std::string{columns_[i].title}, Colour::heading}; });
  for (const auto& row : rows_) {
    line([&](std::size_t i) { return row[i]; });
    rest(row.back());
  }
  return result;
}

}  // namespace cmd
