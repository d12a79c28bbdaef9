// What the keeper of a lease has to tell.
#pragma once

#include <string>
#include <variant>

#include "store/lease.hpp"

namespace hold {

/// All leases last until then at least.
struct Extended {
  store::Deadline valid_until;
};
/// A refresh failed; it will be tried again.
struct Trouble {
  std::string why;
};
/// The lock is definitely not ours any more, and is not refreshed any more.
struct Lost {
  store::LockName name;
  std::string why;
};
/// Somebody wants the job to stop. The lock still is ours.
struct AskedToStop {
  store::LockName name;
  std::string why;
};
using News = std::variant<Extended, Trouble, Lost, AskedToStop>;

}  // namespace hold
