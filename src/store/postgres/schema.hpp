// What rlock keeps in a database, as a DBA reads and runs it.
#pragma once

namespace store::postgres {

/// Of the tables below. A later one is only made by a later version, which then says so here.
inline constexpr int layout = 1;

/// May be run again and again, also by several at once, of whom one may fail.
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

/// The least that a role needs to lock.
inline constexpr const char* grants = R"sql(
-- For each role that locks, here "app":
--   grant usage on schema rlock to app;
--   grant select, insert, update, delete on rlock.lock to app;
--   grant select on rlock.layout to app;
-- For one that only looks (list, inspect, log, metrics): select on both tables.
)sql";

}  // namespace store::postgres
