// Lengths of time: what is taken lies within 1000 years, and is read again from how it is shown.
#include "base/duration.hpp"
#include "property.hpp"

namespace {

/// The smallest unit that is shown beside `shown`.
base::Millis rounding(base::Millis shown) {
  using namespace std::chrono_literals;
  if (shown < 1s) return 0ms;
  if (shown < 1h) return 999ms;
  return shown < 24h ? 1min : 1h;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto length = base::parse_duration(fuzz::text_of(data, size));
  if (!length) return 0;
  fuzz::promise(size > 0, "an empty text is no duration");
  fuzz::promise(fuzz::text_of(data, size).find('-') == std::string_view::npos, "none is negative");
  fuzz::promise(*length >= base::Millis{0} && length->count() <= 1000LL * 365 * 86'400'000,
                "from 0 to 1000 years");
  const auto again = base::parse_duration(base::format_duration(*length));
  fuzz::promise(again.has_value(), "what is shown can be read");
  fuzz::promise(*again <= *length && *length - *again <= rounding(*length),
                "and differs by no more than what is not shown");
  return 0;
}
