// One connection to one PostgreSQL server: libpq, made bounded in time and in memory, and
// interruptible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "store/lock_store.hpp"
#include "store/postgres/database.hpp"
#include "store/postgres/libpq.hpp"
#include "store/postgres/parting.hpp"
#include "store/postgres/rows.hpp"

namespace store::postgres {

/// A value of a statement. Never part of its text.
struct Bytes {
  std::string_view value;
};
using Value = std::variant<Bytes, std::string_view, std::int64_t, bool>;

/// A statement that failed: the code of its error, by which it is judged, and the fault that it is.
struct Refusal {
  std::string sqlstate;  // empty: the server has said nothing
  Fault fault;
};

/// The codes that one of our statements may meet on purpose.
inline constexpr std::string_view no_such_table = "42P01";
inline constexpr std::string_view no_such_schema = "3F000";
inline constexpr std::string_view not_serializable = "40001";
inline constexpr std::string_view deadlock = "40P01";
inline constexpr std::string_view not_allowed = "42501";
inline constexpr std::string_view read_only = "25006";

/// Of an SQLSTATE (PostgreSQL's documentation, appendix A). Nothing of its text is looked at, which
/// is the server's language's.
Fault::Kind kind_of(std::string_view sqlstate);

/// What no PostgreSQL server would answer.
Fault nonsense();

class Connection {
 public:
  /// To the first of the URL's servers that lets itself be written to, each asked for its share of
  /// the time.
  static Result<Connection> open(const PostgreSql& database, const CallLimit& limit);

  /// One statement, one transaction, one round trip. After a silent fault, or one of a server that
  /// goes away, the connection is of no more use.
  base::Result<Rows, Refusal> ask(const char* statement, const std::vector<Value>& values,
                                  std::size_t longest_answer, const CallLimit& limit);
  /// Several statements without values, in one transaction.
  base::Result<Rows, Refusal> run(const char* statements, const CallLimit& limit);

  /// What the next notification says; nothing if none has come. Never blocks.
  Result<std::optional<std::string>> next_notification();

  [[nodiscard]] int descriptor() const { return library_->socket(connection_.get()); }
  /// Whether the other end has closed it, as a server that was restarted has.
  [[nodiscard]] bool hung_up() const;
  /// The process that the server named at the start; another one answers behind a pooler.
  [[nodiscard]] int backend() const { return library_->backend_pid(connection_.get()); }
  [[nodiscard]] int server_version() const { return library_->server_version(connection_.get()); }
  [[nodiscard]] bool is_tls() const { return library_->is_tls(connection_.get()) != 0; }
  [[nodiscard]] bool is_local() const;
  /// What libpq's option of that name is; empty: it has no value.
  [[nodiscard]] std::string option(std::string_view name) const;
  [[nodiscard]] std::string user() const { return library_->user(connection_.get()); }

 private:
  struct Part {
    const LibPq* library;
    void operator()(PGconn* connection) const { part(*library, connection); }
  };
  using Owned = std::unique_ptr<PGconn, Part>;

  Connection(const LibPq& library, Owned connection)
      : library_{&library}, connection_{std::move(connection)} {}

  /// The servers of a URL, each with the parameters of a connection to it alone.
  struct Server;
  static Result<std::vector<Server>> servers_of(const LibPq& library, const PostgreSql& database);
  static Owned start(const LibPq& library, const Server& server);
  static Result<Connection> open_one(const LibPq& library, const Server& server,
                                     const CallLimit& limit);
  [[nodiscard]] Fault connect_fault() const;
  base::Result<Rows, Refusal> answer(std::size_t longest, const CallLimit& limit);
  [[nodiscard]] Refusal refusal_in(const Rows& failed) const;
  [[nodiscard]] Refusal broken() const;
  [[nodiscard]] std::string without_secret(std::string words) const;

  const LibPq* library_;
  Owned connection_;
  std::size_t unread_ = 0;  // bytes that made no notification yet
};

}  // namespace store::postgres
