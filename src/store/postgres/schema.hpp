// rlock's schema in a database, for a DBA to read and run.
#pragma once

namespace store::postgres {

/// The version of the tables below. A later version of rlock that changes them increases it.
inline constexpr int layout = 1;

/// May be run repeatedly, also by several clients at once, of which one may fail.
inline constexpr const char* schema = R"sql(create schema if not exists rlock;

-- A row for each key: who has the lock, who waits, what is remembered. Clients change a row only if
-- it has the version that they read.
create table if not exists rlock.lock (
  key bytea primary key,
  version bigint not null,
  record bytea not null,
  ends timestamptz not null  -- from then on nothing in it counts: such rows are deleted by and by
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
alter table rlock.lock alter column record set storage main;

create table if not exists rlock.layout (version int not null);
insert into rlock.layout select 1 where not exists (select from rlock.layout);
)sql";

/// The least rights of a role that locks.
inline constexpr const char* grants = R"sql(
-- For each role that locks, here "app":
--   grant usage on schema rlock to app;
--   grant select, insert, update, delete on rlock.lock to app;
--   grant select on rlock.layout to app;
-- For one that only looks (list, inspect, log, metrics): select on both tables.
)sql";

}  // namespace store::postgres
