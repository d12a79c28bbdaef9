// The meaning of an etcd server's version for locks.
#pragma once

#include <algorithm>
#include <string_view>
#include <tuple>

#include "base/fields.hpp"

namespace store::etcd {

enum class Fitness {
  fit,
  // A leader that was stuck takes leases for expired when it goes on. It sends its requests to
  // revoke them to the new leader, although their clients keep them alive (etcd's issue 15247).
  revokes_leases,
  too_old,  // the gateway's paths begin with /v3 since 3.4
};

/// The fitness of a version such as "3.5.16", or "3.6.0-rc.1".
inline Fitness fitness_of(std::string_view version) {
  const auto next_number = [&version] {
    const auto end = version.find_first_not_of("0123456789");
    const auto number = base::number_in<int>(version.substr(0, end)).value_or(0);
    version.remove_prefix(std::min(version.size(), end));
    if (version.starts_with('.')) version.remove_prefix(1);
    return number;
  };
  // NOLINTBEGIN(readability-magic-numbers): they are versions.
  const auto major = next_number();
  const auto minor = next_number();
  const auto series = std::tuple{major, minor};
  if (series < std::tuple{3, 4}) return Fitness::too_old;
  const auto patch = next_number();
  if (series == std::tuple{3, 4} && patch < 31) return Fitness::revokes_leases;
  if (series == std::tuple{3, 5} && patch < 13) return Fitness::revokes_leases;
  // NOLINTEND(readability-magic-numbers)
  return Fitness::fit;
}

}  // namespace store::etcd
