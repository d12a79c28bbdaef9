// The public part of this room: locks in a PostgreSQL table, one row for each, kept by the rules of
// store/records.
#pragma once

#include <memory>

#include "store/doctor.hpp"
#include "store/lock_admin.hpp"
#include "store/lock_store.hpp"
#include "store/postgres/database.hpp"

namespace store::postgres {

/// All but grants confirmed by replicas: synchronous_commit controls that for the whole database.
inline constexpr Features features{Feature::shared,    Feature::permits,     Feature::steps,
                                   Feature::min_hold,  Feature::max_waiters, Feature::supersede,
                                   Feature::local_gate};

std::unique_ptr<LockStore> open_store(const PostgreSql& database);
std::unique_ptr<LockAdmin> open_admin(const PostgreSql& database);

/// Acquires and releases the lock `name` as a trial, unless it is held.
Findings examine(const PostgreSql& database, const LockName& name, const CallLimit& limit);

/// The statements that a DBA runs before the first lock, and the rights that a role then needs.
std::string schema_for_people();

}  // namespace store::postgres
