// A lock that a program holds: the other side of the handle.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "library/keeper.hpp"
#include "library/server.hpp"

struct rlock::v0::Lock::Impl {
  Impl(std::shared_ptr<Server::Impl> of, std::vector<store::Lease> granted,
       std::shared_ptr<library::Kept> keeps, store::Parting how);
  /// Releases it, as one that was left early if that is so.
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Whether this is a child of the process that holds it.
  [[nodiscard]] bool is_in_child() const;
  /// Once; says what the first call said. `end`: what `rlock log` tells of the run.
  Released release(const store::RunEnd& end, store::Parting::SlotEnd of_slot);

  std::shared_ptr<Server::Impl> server;
  std::uint64_t in_process;
  std::vector<store::Lease> leases;  // as granted
  std::shared_ptr<library::Kept> kept;
  store::Parting parting;  // but for the end
  std::optional<Released> released{};
};
