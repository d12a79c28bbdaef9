#include "store/postgres/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.hpp"
#include "base/log.hpp"
#include "os/host.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/schema.hpp"
#include "store/url.hpp"

namespace store::postgres {
namespace {

using records::Named;
using records::Posts;
using records::Snapshot;
using records::Swap;
using records::Swapped;
using records::Written;

// ---- statements ---------------------------------------------------------------------------------

// Every function and operator is named with its schema. Otherwise PostgreSQL prefers one with
// better matching types, which another user of the database may have made, and runs it with our
// rights (CVE-2018-1058).

// Reads the time after the row. A standby's rows may be old.
constexpr const char* read_statement = R"sql(
select each.version, each.record,
       (extract(epoch from pg_catalog.clock_timestamp())::numeric
         operator(pg_catalog.*) 1000000::numeric)::bigint,
       pg_catalog.pg_is_in_recovery(), (select pg_catalog.max(version) from rlock.layout)
from (select 1) as always left join rlock.lock as each on each.key operator(pg_catalog.=) $1
)sql";
constexpr const char* time_statement = R"sql(
select null::bigint, null::pg_catalog.bytea,
       (extract(epoch from pg_catalog.clock_timestamp())::numeric
         operator(pg_catalog.*) 1000000::numeric)::bigint,
       pg_catalog.pg_is_in_recovery(), null::int
)sql";
constexpr const char* page_statement = R"sql(
select version, record,
       (extract(epoch from pg_catalog.clock_timestamp())::numeric
         operator(pg_catalog.*) 1000000::numeric)::bigint, key
from rlock.lock where key operator(pg_catalog.>) $1 order by key limit 100
)sql";
constexpr const char* backend_statement = "select pg_catalog.pg_backend_pid()";

// Each changes the row, sends the posts and ends a transaction, all or nothing. $1 is the key, $2
// the version that the row must have, $3 and $4 the new version and record, $5 when that expires,
// $6 the posts, $7 whether the change must survive a crash, $8 whether to look for expired rows, $9
// the latest time for the change.
constexpr const char* insert_row = R"sql(
with swept as (delete from rlock.lock where key operator(pg_catalog.=) any (
       select key from rlock.lock
       where $8 and ends operator(pg_catalog.<)
         (pg_catalog.clock_timestamp() operator(pg_catalog.-) interval '1 day')
       limit 100 for update skip locked)),
     done as (insert into rlock.lock (key, version, record, ends)
              select $1, $3, $4,
                pg_catalog.to_timestamp($5::float operator(pg_catalog./) 1000::float)
              where $2 operator(pg_catalog.=) 0::bigint
                and (extract(epoch from pg_catalog.clock_timestamp())::numeric
                  operator(pg_catalog.*) 1000000::numeric)::bigint operator(pg_catalog.<=) $9
              on conflict do nothing returning 1),
)sql";
constexpr const char* update_row = R"sql(
with done as (update rlock.lock set version = $3, record = $4,
                ends = pg_catalog.to_timestamp($5::float operator(pg_catalog./) 1000::float)
              where key operator(pg_catalog.=) $1 and version operator(pg_catalog.=) $2
                and (extract(epoch from pg_catalog.clock_timestamp())::numeric
                  operator(pg_catalog.*) 1000000::numeric)::bigint operator(pg_catalog.<=) $9
              returning 1),
)sql";
constexpr const char* delete_row = R"sql(
with done as (delete from rlock.lock
              where key operator(pg_catalog.=) $1 and version operator(pg_catalog.=) $2
                and (extract(epoch from pg_catalog.clock_timestamp())::numeric
                  operator(pg_catalog.*) 1000000::numeric)::bigint operator(pg_catalog.<=) $9
              returning 1),
)sql";
// If another client was faster, returns the row as it was when the statement began. A change that
// clients rely on is on disk at commit, as synchronous_commit says; others may come later.
constexpr const char* and_post = R"sql(
     said as (select pg_catalog.pg_notify(pg_catalog.split_part(post, ' ', 1),
                pg_catalog.substr(post, pg_catalog.strpos(post, ' ') operator(pg_catalog.+) 1))
              from done, pg_catalog.unnest(pg_catalog.string_to_array($6, E'\n'))
                with ordinality as each (post, number)
              order by number)
select (select pg_catalog.count(*) from done), (select pg_catalog.count(*) from said),
       case when $7 then '' else pg_catalog.set_config('synchronous_commit', 'off', true) end,
       (extract(epoch from pg_catalog.clock_timestamp())::numeric
         operator(pg_catalog.*) 1000000::numeric)::bigint, each.version, each.record
from (select 1) as always
     left join rlock.lock as each on each.key operator(pg_catalog.=) $1
       and not exists (select from done)
)sql";

// ---- texts of statements ------------------------------------------------------------------------

// For requests about one record; a page of records has the limit of a list.
constexpr std::size_t longest_answer = std::size_t{2} << 20;
// The end of the year 9999.
constexpr std::int64_t latest = 253'402'300'799'000;
// One in this many new rows looks for expired rows.
constexpr std::int64_t sweeps_one_of = 16;

/// One channel for each addressee, so that the server wakes no other client; of letters that need
/// no quotes. Two addressees may share one.
std::string channel_of(const LockName& name, const std::string& whom) {
  return fmt::format("rlock_{:016x}", base::digest(name.text() + '\0' + whom));
}

/// "channel whom what" in ASCII, for any encoding of the database. The first word is the channel;
/// the rest is sent there.
std::string text_of(const LockName& name, const rules::Post& post) {
  return fmt::format("{} {} {}", channel_of(name, post.to), percent_encoded(post.to),
                     percent_encoded(post.message));
}

/// The message in a payload, if it is for `whom`.
std::optional<std::string> word_to(const std::string& whom, std::string_view text) {
  const auto blank = text.find(' ');
  if (blank == text.npos || percent_decoded(text.substr(0, blank)) != whom) return std::nullopt;
  return percent_decoded(text.substr(blank + 1));
}

/// Unique among all rows: another row of that key, or the same one after a standby took over
/// without it, cannot be mistaken for the row that was read.
std::int64_t new_version() {
  constexpr int low_bits = 31;
  const auto low = os::random_between(0, (std::int64_t{1} << low_bits) - 1);
  return (os::random_between(0, (std::int64_t{1} << low_bits) - 1) << low_bits | low) + 1;
}

Fault may_not_make_tables() {
  return {Fault::Kind::misconfigured,
          "the database has no tables of rlock, and this role may not make them; its owner makes "
          "them: rlock schema postgresql | psql DATABASE"};
}

bool is_without_tables(const Refusal& refusal) {
  return refusal.sqlstate == no_such_table || refusal.sqlstate == no_such_schema;
}

// ---- the table ----------------------------------------------------------------------------------

class Table final : public records::Records {
 public:
  explicit Table(PostgreSql database) : database_{std::move(database)} {}

  Result<Snapshot> read(const LockName& name, const CallLimit& limit) override {
    auto rows = ask(read_statement, {Bytes{name.text()}}, longest_answer, limit);
    if (!rows && is_without_tables(rows.error())) {
      rows = ask(time_statement, {}, longest_answer, limit);
    }
    if (!rows) return std::move(rows).error().fault;
    if (rows->size() != 1 || rows->is_null(0, 2)) return nonsense();
    if (rows->truth(0, 3)) {
      drop();
      return Fault{Fault::Kind::unavailable, "the server is a standby"};
    }
    if (rows->number(0, 4) > layout) {
      return Fault{Fault::Kind::misconfigured,
                   fmt::format("its tables are of layout {}: a later version of rlock made them",
                               rows->number(0, 4))};
    }
    return snapshot_in(*rows, 0);
  }

  // It exchanges no values of ours.
  // NOLINTNEXTLINE(bugprone-exception-escape)
  Result<Swapped> swap(const LockName& name, const Swap& swap, const CallLimit& limit) override {
    auto written = try_swap(name, swap, limit);
    if (!written && is_without_tables(written.error())) {
      auto made = make_tables(limit);
      if (!made) return std::move(made).error();
      written = try_swap(name, swap, limit);
    }
    if (written) return *written;
    const Refusal& refusal = written.error();
    const bool late = refusal.sqlstate == not_serializable || refusal.sqlstate == deadlock;
    if (late) return Swapped{Snapshot{"", swap.version, 0}};
    return refusal.fault;
  }

  Result<std::vector<Named>> page(const std::string& after, const CallLimit& limit) override {
    auto rows = ask(page_statement, {Bytes{after}}, longest_list, limit);
    if (!rows && is_without_tables(rows.error())) return std::vector<Named>{};
    if (!rows) return std::move(rows).error().fault;
    std::vector<Named> named;
    for (std::size_t i = 0; i < rows->size(); ++i) {
      named.push_back({std::string{rows->bytes(i, 3)}, snapshot_in(*rows, i)});
    }
    return named;
  }

  Result<Posts> listen(const LockName& name, const std::string& whom,
                       const CallLimit& limit) override {
    whom_ = whom;
    const std::string channel = channel_of(name, whom);
    if (connection_ && connection_->hung_up()) drop();
    if (ear_ == Ear::open && channel == channel_) return Posts::arrive;
    auto rows = ask(backend_statement, {}, longest_answer, limit);
    if (!rows) return std::move(rows).error().fault;
    if (rows->number(0, 0) != connection_->backend()) {
      if (ear_ != Ear::behind_pooler) say_pooler();
      ear_ = Ear::behind_pooler;
      return Posts::do_not_arrive;
    }
    // These statements take no parameters.
    const auto statement = fmt::format("unlisten *; listen {}", channel);
    auto heard = connection_->run(statement.c_str(), limit);
    if (!heard) {
      drop_after(heard.error());
      return std::move(heard).error().fault;
    }
    ear_ = Ear::open;
    channel_ = channel;
    return Posts::arrive;
  }

  [[nodiscard]] int descriptor() const override {
    return ear_ == Ear::open ? connection_->descriptor() : -1;
  }

  Result<std::optional<std::string>> take() override {
    if (ear_ == Ear::behind_pooler) return std::optional<std::string>{};
    if (ear_ == Ear::none) return Fault{Fault::Kind::unreachable, "the connection was lost"};
    // A busy queue means many posts to others; leave a server that never ends them.
    constexpr int most = 10'000;
    for (int i = 0; i < most; ++i) {
      auto got = connection_->next_notification();
      if (!got) {
        drop();
        return std::move(got).error();
      }
      if (!*got) return std::optional<std::string>{};
      if (auto word = word_to(whom_, **got)) return std::optional{*std::move(word)};
    }
    drop();
    return Fault{Fault::Kind::unusable, "the server sends notifications without end"};
  }

 private:
  enum class Ear { none, open, behind_pooler };

  /// From the columns version, record and time.
  static Snapshot snapshot_in(const Rows& rows, std::size_t row) {
    return {std::string{rows.bytes(row, 1)}, static_cast<std::uint64_t>(rows.number(row, 0)),
            static_cast<std::uint64_t>(rows.number(row, 2))};
  }

  void drop() {
    connection_.reset();
    ear_ = Ear::none;
  }

  /// On a connection believed to be open.
  base::Result<Rows, Refusal> ask(const char* statement, const std::vector<Value>& values,
                                  std::size_t longest, const CallLimit& limit) {
    if (connection_ && connection_->hung_up()) drop();
    if (!connection_) {
      auto opened = Connection::open(database_, limit);
      if (!opened) return Refusal{"", std::move(opened).error()};
      connection_.emplace(*std::move(opened));
    }
    auto rows = connection_->ask(statement, values, longest, limit);
    if (!rows) drop_after(rows.error());
    return rows;
  }

  void drop_after(const Refusal& refusal) {
    using Kind = Fault::Kind;
    const Kind kind = refusal.fault.kind;
    // If it is read-only, another server may have taken over.
    if (kind == Kind::silent || kind == Kind::unusable || refusal.sqlstate == read_only) drop();
  }

  base::Result<Swapped, Refusal> try_swap(const LockName& name, const Swap& swap,
                                          const CallLimit& limit) {
    const bool goes = swap.text.empty();
    const char* const change = swap.version == 0 ? insert_row : goes ? delete_row : update_row;
    const std::string statement = fmt::format("{}{}", change, and_post);
    const std::int64_t version = new_version();
    std::string posts;
    for (const auto& each : swap.posts) posts += (posts.empty() ? "" : "\n") + text_of(name, each);
    const bool sweeps = swap.version == 0 && os::random_between(1, sweeps_one_of) == 1;
    auto rows =
        ask(statement.c_str(),
            {Bytes{name.text()}, static_cast<std::int64_t>(swap.version), version, Bytes{swap.text},
             std::clamp<std::int64_t>(swap.ends_ms, 1, latest), std::string_view{posts},
             swap.must_last, sweeps, static_cast<std::int64_t>(swap.latest_us)},
            longest_answer, limit);
    if (!rows) return std::move(rows).error();
    if (rows->size() != 1) return Refusal{"", nonsense()};
    const auto now_us = static_cast<std::uint64_t>(rows->number(0, 3));
    if (rows->number(0, 0) != 1) {
      return Swapped{Snapshot{std::string{rows->bytes(0, 5)},
                              static_cast<std::uint64_t>(rows->number(0, 4)), now_us}};
    }
    return Swapped{Written{goes ? 0 : static_cast<std::uint64_t>(version), now_us}};
  }

  Result<base::Done> make_tables(const CallLimit& limit) {
    if (!connection_) return Fault{Fault::Kind::silent, "the connection was lost"};
    auto made = connection_->run(schema, limit);
    if (made) {
      base::log::detail("made the tables of rlock in this database (schema rlock)");
      return base::Done{};
    }
    const Refusal& refusal = made.error();
    drop_after(refusal);
    if (refusal.sqlstate == not_allowed) return may_not_make_tables();
    // Another client is making them just now: the next request will show.
    constexpr std::string_view integrity_violations = "23";
    constexpr std::string_view duplicates = "42P0";
    if (refusal.sqlstate.starts_with(integrity_violations) ||
        refusal.sqlstate.starts_with(duplicates) || refusal.sqlstate.starts_with("427")) {
      return base::Done{};
    }
    return refusal.fault;
  }

  static void say_pooler() {
    base::log::Event{"pooler"}.detail(
        "a pooler is between us and the server: it looks again instead of being told; a direct "
        "connection would be quicker");
  }

  PostgreSql database_;
  std::optional<Connection> connection_{};
  Ear ear_ = Ear::none;
  std::string channel_{};  // the channel that we listen on
  std::string whom_{};     // the addressee of the wanted posts
};

}  // namespace

std::unique_ptr<records::Records> open_table(const PostgreSql& database) {
  return std::make_unique<Table>(database);
}

}  // namespace store::postgres
