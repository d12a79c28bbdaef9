// The output about a lock: tables without control characters, JSON that is read back. The input is
// the key, the holder and a waiter, one a line, and the figures are made of it.
#include <nlohmann/json.hpp>

#include "cmd/present.hpp"
#include "hold/progress.hpp"
#include "property.hpp"

namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c == '\n' || (c >= ' ' && c < 0x7F); });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto text = fuzz::text_of(data, size);
  const std::size_t figure = size > 0 ? data[size - 1] : 0;
  const auto name = store::LockName::from(fuzz::next(text, '\n'));
  if (!name) return 0;
  const std::string token{fuzz::next(text, '\n')};
  const store::Millis length{std::int64_t{1000} * 60 * 60 * 24 * 365 * 100 * figure / 255};
  const store::Holder holder{static_cast<store::Holder::Kind>(figure % 4), token, length, length};
  const store::Mode mode{static_cast<store::Mode::Kind>(figure % 3), 7};
  const store::LockReport report{*name,
                                 mode,
                                 {{holder, figure}},
                                 figure,
                                 {{store::Token::foreign(std::string{text}), mode, length}},
                                 {}};
  fuzz::promise_clean(cmd::as_table(report), "a table is clean");
  fuzz::promise_clean(cmd::as_table(std::vector{report, report}), "a list is clean");
  fuzz::promise(base::is_printable(hold::describe(holder)), "a sentence is clean");
  std::string list;
  cmd::write_json({report}, [&](std::string_view piece) { list += piece; });
  for (const auto& json : {cmd::as_json(report), list}) {
    fuzz::promise(is_ascii(json), "JSON is ASCII");
    const auto document = nlohmann::json::parse(json, nullptr, false);
    fuzz::promise(!document.is_discarded(), "JSON is JSON");
    if (document.contains("holder") && base::is_printable(token)) {
      fuzz::promise(document["holder"]["token"] == token, "the holder is read back");
    }
  }
  return 0;
}
