// The result of a statement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "store/postgres/libpq.hpp"

namespace store::postgres {

/// Owns a statement's result. Reading a missing value returns an empty text, 0 or false: a hostile
/// server cannot crash us here.
class Rows {
 public:
  Rows(const LibPq& library, PGresult* owned) : library_{&library}, result_{owned, {&library}} {}

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool is_null(std::size_t row, int column) const;
  [[nodiscard]] std::string_view bytes(std::size_t row, int column) const;
  /// The value of a bigint or an int.
  [[nodiscard]] std::int64_t number(std::size_t row, int column) const;
  [[nodiscard]] bool truth(std::size_t row, int column) const;

 private:
  friend class Connection;
  struct Clear {
    const LibPq* library;
    void operator()(PGresult* result) const { library->clear(result); }
  };
  [[nodiscard]] std::string_view error_field(int field) const;

  const LibPq* library_;
  std::unique_ptr<PGresult, Clear> result_;
};

}  // namespace store::postgres
