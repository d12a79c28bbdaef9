// A table on stdout: as wide as its cells in a pipe, as wide as the terminal at one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/settings.hpp"

namespace cmd {

/// How stdout is written to.
struct Look {
  std::optional<std::size_t> columns{};  // of the terminal; nothing: a line may have any length
  bool colour = false;
};

/// The width of stdout now, and colours as --color, NO_COLOR and TERM ask for. Throws UsageError.
Look look_of(const Settings& settings);

enum class Colour { none, good, doubtful, bad, heading };
/// `text` in that colour, if there are colours.
std::string painted(std::string_view text, Colour colour, const Look& look);

/// A cell's text is safe for a terminal already.
struct Cell {
  std::string text;
  Colour colour = Colour::none;
};

struct Column {
  enum class Kind {
    left,
    right,
    cut_middle,  // is cut if there is too little room; both ends of a key tell it apart
    cut_end,
    flows  // the last column: goes on in the next line, and in a narrow table stands below its row
  };
  std::string_view title;
  Kind kind = Kind::left;
  int left_out = 0;  // if there is still too little room: the columns with 1, then 2; 0: never
  bool shown = true;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_{std::move(columns)} {}
  /// One cell for each column, those that are not shown too.
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  /// With a heading; each line ends with a newline and has no blanks before that.
  [[nodiscard]] std::string text(const Look& look) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace cmd
