// The runs of locks as bars over time: rlock log --timeline.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "store/lock_admin.hpp"

namespace cmd {

enum class Charset { ascii, utf8 };
/// The character set that the locale names: the first of LC_ALL, LC_CTYPE and LANG that is not
/// empty.
Charset charset_of(std::string_view lc_all, std::string_view lc_ctype, std::string_view lang);

/// The surface for the bars.
struct Canvas {
  std::optional<std::size_t> columns = 80;  // nothing: names are not cut
  Charset charset = Charset::utf8;
  bool colour = false;
  std::chrono::sys_time<base::Millis> now{};  // for the times of the axis, which are local
};

/// One line for each run, the oldest first, and for each waiter; all locks share the time axis.
/// Empty if there are no runs and no waiters.
std::string timeline(const std::vector<store::LockReport>& reports, const Canvas& canvas);

}  // namespace cmd
