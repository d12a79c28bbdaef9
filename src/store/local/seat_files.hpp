// The files of one lock's directory: for each seat a named pipe, who sits there, and what it was
// granted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "os/ipc.hpp"
#include "store/local/entry.hpp"

namespace store::local {

/// A seat as the names in the directory tell of it, before anything is read: its process may be
/// gone.
struct SeatNames {
  std::uint64_t number;
  bool granted = false;  // it holds
};

/// To be used with the ledger locked.
class SeatFiles {
 public:
  /// In the directory `place`, which exists.
  SeatFiles(std::string place, const os::Sharing& sharing)
      : place_{std::move(place)}, sharing_{sharing} {}

  [[nodiscard]] const std::string& place() const { return place_; }
  /// In the order of arrival.
  [[nodiscard]] os::Result<std::vector<SeatNames>> list() const;
  /// Who sits there; nothing if its process is gone, and it was not kept for longer than that. Of
  /// one that lives and cannot be read (another user's), the worst is assumed.
  [[nodiscard]] std::optional<Entry> living(const SeatNames& names) const;
  /// Makes its pipe, which this process owns: from now on it is there. An exception (os::fail) if
  /// that cannot be, as on a full disk.
  [[nodiscard]] os::NamedPipe create(const Entry& entry) const;
  /// What was granted.
  [[nodiscard]] os::Result<os::Done> write_grant(const Entry& entry) const;
  void remove(std::uint64_t seat) const;
  [[nodiscard]] std::string pipe_of(std::uint64_t seat) const { return path_of(seat, ""); }

 private:
  [[nodiscard]] std::string path_of(std::uint64_t seat, const char* suffix) const;
  [[nodiscard]] std::optional<Entry> read(std::uint64_t seat) const;

  std::string place_;
  os::Sharing sharing_;
};

}  // namespace store::local
