#include "store/postgres/rows.hpp"

#include <algorithm>

namespace store::postgres {

std::size_t Rows::size() const {
  return static_cast<std::size_t>(std::max(library_->rows(result_.get()), 0));
}

bool Rows::is_null(std::size_t row, int column) const {
  if (row >= size() || column >= library_->columns(result_.get())) return true;
  return library_->is_null(result_.get(), static_cast<int>(row), column) != 0;
}

std::string_view Rows::bytes(std::size_t row, int column) const {
  if (is_null(row, column)) return {};
  const int length = library_->length(result_.get(), static_cast<int>(row), column);
  return {library_->value(result_.get(), static_cast<int>(row), column),
          static_cast<std::size_t>(std::max(length, 0))};
}

std::int64_t Rows::number(std::size_t row, int column) const {
  const std::string_view text = bytes(row, column);
  if (text.size() != 8 && text.size() != 4) return 0;
  std::uint64_t bits = 0;
  for (const char c : text) bits = bits << 8 | static_cast<unsigned char>(c);
  return text.size() == 4 ? static_cast<std::int32_t>(bits) : static_cast<std::int64_t>(bits);
}

bool Rows::truth(std::size_t row, int column) const {
  const std::string_view text = bytes(row, column);
  return text.size() == 1 && text.front() != '\0';
}

std::string_view Rows::error_field(int field) const {
  const char* const text = library_->error_field(result_.get(), field);
  return text == nullptr ? std::string_view{} : text;
}

}  // namespace store::postgres
