// One connection to one PostgreSQL server: libpq with limits on time and memory, interruptible.
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

/// A value of a statement, never part of its text.
struct Bytes {
  std::string_view value;
};
using Value = std::variant<Bytes, std::string_view, std::int64_t, bool>;

/// A failed statement: the code of its error, and the resulting fault.
struct Refusal {
  std::string sqlstate;  // empty: the server has not answered
  Fault fault;
};

/// Codes that our statements may provoke on purpose.
inline constexpr std::string_view no_such_table = "42P01";
inline constexpr std::string_view no_such_schema = "3F000";
inline constexpr std::string_view not_serializable = "40001";
inline constexpr std::string_view deadlock = "40P01";
inline constexpr std::string_view not_allowed = "42501";
inline constexpr std::string_view read_only = "25006";

/// The kind of an SQLSTATE (PostgreSQL's documentation, appendix A). The message does not count: it
/// is in the server's language.
Fault::Kind kind_of(std::string_view sqlstate);

/// An answer that no PostgreSQL server would give.
Fault nonsense();

class Connection {
 public:
  /// Connects to the first of the URL's servers that accepts writes, and gives each a share of the
  /// time.
  static Result<Connection> open(const PostgreSql& database, const CallLimit& limit);

  /// One statement, one transaction, one round trip. After a silent fault, or one from a server
  /// that shuts down, the connection is unusable.
  base::Result<Rows, Refusal> ask(const char* statement, const std::vector<Value>& values,
                                  std::size_t longest_answer, const CallLimit& limit);
  /// Several statements without values, in one transaction.
  base::Result<Rows, Refusal> run(const char* statements, const CallLimit& limit);

  /// The payload of the next notification; nothing if there is none. Never blocks.
  Result<std::optional<std::string>> next_notification();

  [[nodiscard]] int descriptor() const { return library_->socket(connection_.get()); }
  /// Whether the other end has closed the connection, as a restarted server has.
  [[nodiscard]] bool hung_up() const;
  /// The process id from the server's greeting; behind a pooler another process answers.
  [[nodiscard]] int backend() const { return library_->backend_pid(connection_.get()); }
  [[nodiscard]] int server_version() const { return library_->server_version(connection_.get()); }
  [[nodiscard]] bool is_tls() const { return library_->is_tls(connection_.get()) != 0; }
  [[nodiscard]] bool is_local() const;
  /// The value of libpq's option of that name; empty if it has none.
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
  std::size_t unread_ = 0;  // bytes that are not a notification yet
};

}  // namespace store::postgres
