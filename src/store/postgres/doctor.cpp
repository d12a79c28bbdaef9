#include <fmt/format.h>

#include "base/text.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/postgres.hpp"

namespace store::postgres {
namespace {

using Verdict = Finding::Verdict;

constexpr std::size_t longest_findings = 65536;
// The oldest version that the PostgreSQL project still supported when this was written.
constexpr int oldest_version = 140000;

// One row with all answers, in one round trip. Functions and operators are named as in table.cpp.
constexpr const char* examination = R"sql(
select pg_catalog.current_setting('server_version'), pg_catalog.pg_is_in_recovery(),
       pg_catalog.pg_backend_pid(), pg_catalog.current_setting('synchronous_commit'),
       pg_catalog.current_setting('fsync'),
       pg_catalog.current_setting('synchronous_standby_names'),
       pg_catalog.current_setting('autovacuum'),
       pg_catalog.current_setting('max_connections')::int,
       (select pg_catalog.sum(numbackends)::int from pg_catalog.pg_stat_database),
       exists (select from pg_catalog.pg_tables  -- to_regclass() wants a right to the schema
               where schemaname operator(pg_catalog.=) 'rlock'::pg_catalog.name
                 and tablename operator(pg_catalog.=) 'lock'::pg_catalog.name),
       (select pg_catalog.count(*)::int from pg_catalog.pg_stat_replication),
       pg_catalog.abs(((extract(epoch from pg_catalog.clock_timestamp())::numeric
         operator(pg_catalog.*) 1000000::numeric)::bigint) operator(pg_catalog.-) $1)
)sql";

/// The columns of that row.
enum Column {
  server_version,
  is_standby,
  backend,
  synchronous_commit,
  fsync,
  standby_names,
  autovacuum,
  max_connections,
  connections,
  has_tables,
  replicas,
  clock_difference,
};

std::string word(const Rows& rows, Column column) {
  constexpr std::size_t most = 100;
  return base::printable(rows.bytes(0, column), most);
}

Finding encryption(const Connection& connection) {
  constexpr const char* subject = "encryption";
  if (connection.is_tls()) {
    const auto mode = connection.option("sslmode");
    if (mode.starts_with("verify-")) return {Verdict::ok, subject, "TLS", ""};
    return {Verdict::warn, subject, fmt::format("TLS, but sslmode={} verifies nobody", mode),
            "any server on the way can pretend to be this one: add sslmode=verify-full to the URL"};
  }
  if (connection.is_local()) return {Verdict::ok, subject, "none, on a Unix socket", ""};
  return {Verdict::warn, subject, "none: passwords and locks can be read and changed on the way",
          "add ?sslmode=verify-full to the URL"};
}

Finding durability(const Rows& rows) {
  constexpr const char* subject = "durability";
  if (word(rows, fsync) == "off") {
    return {Verdict::fail, subject, "fsync is off", "a crash of the server may forget who holds"};
  }
  const auto commit = word(rows, synchronous_commit);
  if (commit == "off") {
    return {Verdict::warn, subject, "synchronous_commit is off",
            "a crash of the server forgets the grants of its last moment; set it to on for the "
            "role of rlock"};
  }
  return {Verdict::ok, subject, fmt::format("synchronous_commit is {}", commit), ""};
}

/// The data that survives a failover.
Finding failover(const Rows& rows) {
  constexpr const char* subject = "failover";
  const auto number = rows.number(0, replicas);
  if (number == 0) return {Verdict::ok, subject, "no standby is connected", ""};
  const auto names = word(rows, standby_names);
  if (names.empty()) {
    return {Verdict::warn, subject, "standbys follow asynchronously",
            "a failover may forget the last grants; set synchronous_standby_names, or see LIMITS "
            "in rlock-limits(7)"};
  }
  return {Verdict::ok, subject, fmt::format("synchronous_standby_names is {}", names), ""};
}

Finding room_for_waiters(const Rows& rows) {
  constexpr const char* subject = "connections";
  const auto used = rows.number(0, connections);
  const auto most = rows.number(0, max_connections);
  const bool is_tight = used * 4 > most * 3;
  return {is_tight ? Verdict::warn : Verdict::ok, subject,
          fmt::format("{} of {} are in use; each run and each waiter has one or two", used, most),
          is_tight ? "--local-gate lets one waiter of each host wait at the server" : ""};
}

Finding pooler(const Connection& connection, const Rows& rows) {
  constexpr const char* subject = "pooler";
  if (rows.number(0, backend) == connection.backend()) return {Verdict::ok, subject, "none", ""};
  return {Verdict::warn, subject, "a pooler is in between: nobody can be told, all look again",
          "give rlock a direct connection: waits end up to a second later so, and --local-gate "
          "saves connections, too"};
}

std::string advice_on(const Fault& fault) {
  using Kind = Fault::Kind;
  switch (fault.kind) {
    case Kind::denied:
      return "check user, password and pg_hba.conf; rlock schema postgresql "
             "says what the role needs";
    case Kind::misconfigured: return "rlock schema postgresql | psql DATABASE makes the tables";
    default: return "check the URL, the network, and the server";
  }
}

}  // namespace

Findings examine(const PostgreSql& database, const LockName& name, const CallLimit& limit) {
  const auto failed = [](const Fault& fault) {
    return Finding{Verdict::fail, "reachable", fault.why, advice_on(fault)};
  };
  auto connection = Connection::open(database, for_the_first_answer(limit));
  if (!connection) return {failed(connection.error())};
  const auto now = static_cast<std::int64_t>(base::wall_us());
  auto rows = connection->ask(examination, {now}, longest_findings, limit);
  if (!rows) return {failed(rows.error().fault)};
  const int version = connection->server_version();
  Findings findings;
  findings.push_back(
      {version < oldest_version ? Verdict::warn : Verdict::ok, "reachable",
       fmt::format("PostgreSQL {}, as {}", word(*rows, server_version),
                   base::printable(connection->user())),
       version < oldest_version ? "its faults are not mended any more: upgrade it" : ""});
  if (rows->truth(0, is_standby)) {
    findings.push_back({Verdict::fail, "primary", "it is a standby", "name the primary"});
    return findings;
  }
  findings.push_back(encryption(*connection));
  findings.push_back(durability(*rows));
  findings.push_back(failover(*rows));
  findings.push_back(room_for_waiters(*rows));
  findings.push_back(pooler(*connection, *rows));
  if (word(*rows, autovacuum) == "off") {
    findings.push_back({Verdict::warn, "autovacuum", "it is off",
                        "the table of locks grows with each run: turn it on"});
  }
  constexpr std::int64_t tolerable_us = 500'000;
  const auto difference = rows->number(0, clock_difference);
  const bool differs = difference > tolerable_us;
  findings.push_back({differs ? Verdict::warn : Verdict::ok, "clock",
                      fmt::format("{} ms from this host's", difference / 1000),
                      differs ? "times that are shown are the server's; locks do not mind" : ""});
  if (!rows->truth(0, has_tables)) {
    findings.push_back({Verdict::ok, "tables", "not made yet: the first lock does that", ""});
  }
  findings.push_back(try_locking(*open_store(database), name, advice_on, limit));
  return findings;
}

}  // namespace store::postgres
