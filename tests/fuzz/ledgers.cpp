// The files in a directory of locks, and the lines in a holder's pipe.
#include "property.hpp"
#include "store/local/directory.hpp"
#include "store/local/mail.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  (void)store::local::numbers_in(text);
  if (auto entry = store::local::entry_in(text)) {
    const auto again = store::local::entry_in(store::local::text_of(*entry));
    fuzz::promise(again && again->token == entry->token && again->mode == entry->mode &&
                      again->since == entry->since,
                  "an entry is read back");
    fuzz::promise(entry->since >= 0, "a time is one");
  }
  if (const auto notice = store::local::notice_in(text)) {
    fuzz::promise(base::is_printable(notice->why), "what others say is clean");
  }
  if (const auto name = store::local::name_of(text)) {
    const auto file = store::percent_encoded(name->text());
    fuzz::promise(store::local::name_of(file) == name, "a key is read back from its file's name");
  }
  return 0;
}
