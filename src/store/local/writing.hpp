// How the ledger's small files are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/local/entry.hpp"

namespace store::local {

/// Numbers with blanks between them; nothing at all if anything else is there.
std::vector<std::uint64_t> numbers_in(std::string_view text);

/// With leading zeros, so that names sort and numbers replace each other whole.
std::string twenty_digits(std::uint64_t number);

/// Who somebody is: its mode, when it came, and its token.
std::string text_of(const Entry& entry);
/// An entry without seat and grant; nothing if it is none.
std::optional<Entry> entry_in(std::string_view text);

}  // namespace store::local
