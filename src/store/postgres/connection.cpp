#include "store/postgres/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/log.hpp"
#include "base/text.hpp"
#include "os/poll.hpp"

namespace store::postgres {
namespace {

constexpr std::size_t longest_words = 300;  // of the server's text in a message

// ---- values on their way ------------------------------------------------------------------------

// From pg_type: these numbers never change.
constexpr Oid type_bool = 16;
constexpr Oid type_bytea = 17;
constexpr Oid type_bigint = 20;
constexpr Oid type_text = 25;

std::string in_network_order(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  std::string text;
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(bits >> shift & 0xff);
  return text;
}

/// The arguments of PQsendQueryParams(), all in binary form.
struct Arguments {
  std::vector<Oid> types;
  std::vector<std::string> texts;

  explicit Arguments(const std::vector<Value>& values) {
    for (const Value& value : values) {
      base::match(
          value, [&](const Bytes& bytes) { add(type_bytea, std::string{bytes.value}); },
          [&](std::string_view text) { add(type_text, std::string{text}); },
          [&](std::int64_t number) { add(type_bigint, in_network_order(number)); },
          [&](bool truth) { add(type_bool, std::string(1, truth ? '\1' : '\0')); });
    }
  }

 private:
  void add(Oid type, std::string text) {
    types.push_back(type);
    texts.push_back(std::move(text));
  }
};

// ---- what went wrong ----------------------------------------------------------------------------

bool is_of_class(std::string_view sqlstate, std::string_view first_two) {
  return sqlstate.size() == 5 && sqlstate.starts_with(first_two);
}

/// The code in libpq's message about a refused connection, "FATAL:  28P01: ...", which libpq
/// reports in no other way. The word before it is in the server's language.
std::string_view code_in(std::string_view message) {
  constexpr std::string_view before = ":  ";
  constexpr std::size_t size = 5;
  for (auto at = message.find(before); at != message.npos; at = message.find(before, at + 1)) {
    const auto code = message.substr(at + before.size(), size);
    const bool is_code = code.size() == size && std::all_of(code.begin(), code.end(), [](char c) {
                           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
                         });
    if (is_code && message.substr(at + before.size() + size).starts_with(": ")) return code;
  }
  return {};
}

/// The first line, for people.
std::string first_line(std::string_view message) {
  return base::printable(message.substr(0, message.find('\n')), longest_words);
}

// ---- bounds -------------------------------------------------------------------------------------

/// A server that never stops sending is always readable, even when the time is over.
os::Ready wait_for_server(int descriptor, os::Want want, const CallLimit& limit) {
  const auto ready = os::wait_for(descriptor, want, limit);
  return ready == os::Ready::yes && limit.until.passed(base::now()) ? os::Ready::timed_out : ready;
}

/// Counts the bytes that the server sends before it has answered: libpq keeps them all.
class Inflow {
 public:
  explicit Inflow(std::size_t longest) : longest_{longest} {}

  /// Call before libpq reads. A Fault: too much.
  std::optional<Fault> count(int descriptor) {
    taken_ += os::readable_bytes(descriptor);
    if (taken_ <= longest_) return std::nullopt;
    return Fault{Fault::Kind::unusable, "an implausibly long answer"};
  }

 private:
  std::size_t longest_;
  std::size_t taken_ = 0;
};

Fault not_answered(os::Ready ready) {
  return {Fault::Kind::silent,
          ready == os::Ready::interrupted ? std::string{cut_short} : "no answer in time"};
}

}  // namespace

Fault::Kind kind_of(std::string_view sqlstate) {
  using Kind = Fault::Kind;
  constexpr std::string_view completion_unknown = "40003";
  // A server that shuts down may have committed before.
  if (sqlstate == completion_unknown || sqlstate.starts_with("57P")) return Kind::silent;
  if (is_of_class(sqlstate, "08")) return Kind::silent;
  // Temporary: too many connections, out of memory, disk full (53), notification queue full (54), a
  // lock or a timeout.
  for (const auto* each : {"40", "53", "54", "55", "57", "58"}) {
    if (is_of_class(sqlstate, each)) return Kind::unavailable;
  }
  if (sqlstate == read_only) return Kind::unavailable;
  if (is_of_class(sqlstate, "28") || sqlstate == not_allowed) return Kind::denied;
  constexpr std::string_view no_such_database = "3D000";
  if (sqlstate == no_such_database || sqlstate == no_such_schema || is_of_class(sqlstate, "42")) {
    return Kind::misconfigured;
  }
  return Kind::unusable;
}

Fault nonsense() {
  return {Fault::Kind::unusable, "not an answer of a PostgreSQL server"};
}

// ---- connecting ---------------------------------------------------------------------------------

struct Connection::Server {
  using Parameter = std::pair<std::string, std::string>;
  std::vector<Parameter> parameters{};  // the last one of a name counts
  bool has_address = false;             // so that libpq does not look up the name

  [[nodiscard]] Server with(const char* name, const char* value) const {
    Server other = *this;
    other.parameters.emplace_back(name, value);
    return other;
  }
  /// In libpq's form, during the call.
  template <typename Call>
  auto pass_to(const Call& call) const {
    std::vector<const char*> names;
    std::vector<const char*> values;
    for (const auto& [name, value] : parameters) {
      names.push_back(name.c_str());
      values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
    constexpr int dbname_is_url = 1;
    return call(names.data(), values.data(), dbname_is_url);
  }
};

Connection::Owned Connection::start(const LibPq& library, const Server& server) {
  Owned connection{server.pass_to(library.connect_start), Part{&library}};
  if (!connection) throw std::bad_alloc{};
  return connection;
}

Result<std::vector<Connection::Server>> Connection::servers_of(const LibPq& library,
                                                               const PostgreSql& database) {
  // Options of the URL take precedence.
  Server all{{{"fallback_application_name", "rlock"},
              {"target_session_attrs", "read-write"},
              {"gssencmode", "disable"},  // it would look for a ticket first
              {"keepalives_idle", "30"},
              {"keepalives_interval", "10"},
              {"keepalives_count", "3"},
              {"dbname", database.url.reveal()}}};
  if (!database.password.empty() && !database.has_password) {
    all.parameters.emplace_back("password", database.password.reveal());
  }
  // With several servers libpq asks the next one only after the one before has answered, so a
  // silent one would use up all the time. So ask each separately. Only a connection reveals whether
  // the URL, a service or PGHOST names them; here one that libpq refuses to begin. With a password
  // libpq looks for none, and prints no warning about a .pgpass that others can read.
  const Connection none{library, start(library, all.with("sslmode", "none").with("password", "-"))};
  const auto list = [&](std::string_view name) {
    std::vector<std::string> parts;
    const auto value = none.option(name);
    std::string_view rest = value;
    while (!rest.empty() || !parts.empty()) {
      const auto comma = std::min(rest.find(','), rest.size());
      parts.emplace_back(rest.substr(0, comma));
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
    return parts;
  };
  const auto hosts = list("host");
  const auto addresses = list("hostaddr");
  const auto ports = list("port");
  all.has_address = !addresses.empty();
  const std::size_t number = std::max(hosts.size(), addresses.size());
  if (number < 2) return std::vector<Server>{all};
  const bool fits = (hosts.empty() || hosts.size() == number) &&
                    (addresses.empty() || addresses.size() == number) &&
                    (ports.size() <= 1 || ports.size() == number);
  if (!fits) {
    return Fault{Fault::Kind::misconfigured, "its numbers of hosts and of ports do not agree"};
  }
  std::vector<Server> servers(number, all);
  for (std::size_t i = 0; i < number; ++i) {
    const auto put = [&](const char* name, const std::vector<std::string>& parts) {
      if (parts.size() > 1) servers[i].parameters.emplace_back(name, parts[i]);
    };
    put("host", hosts);
    put("hostaddr", addresses);
    put("port", ports);
  }
  return servers;
}

Fault Connection::connect_fault() const {
  const std::string message = without_secret(library_->error_message(connection_.get()));
  const auto code = code_in(message);
  auto kind = code.empty() ? Fault::Kind::unreachable : kind_of(code);
  if (kind == Fault::Kind::silent) kind = Fault::Kind::unreachable;
  if (library_->needs_password(connection_.get()) != 0) kind = Fault::Kind::denied;
  return {kind, first_line(message)};
}

Result<Connection> Connection::open_one(const LibPq& library, const Server& server,
                                        const CallLimit& limit) {
  Connection made{library, start(library, server)};
  PGconn* const connection = made.connection_.get();
  library.set_verbosity(connection, PQERRORS_VERBOSE);
  library.set_notice_processor(
      connection, [](void* /*argument*/, const char* /*message*/) {}, nullptr);
  if (library.status(connection) == CONNECTION_BAD) {
    Fault fault = made.connect_fault();
    // Was it the server, or does libpq reject an option? If it does, it does not try a socket
    // either, which cannot exist.
    const auto elsewhere = server.with("host", "/dev/null/no-socket").with("password", "-");
    if (!server.has_address && elsewhere.pass_to(library.ping) == PQPING_NO_ATTEMPT) {
      fault.kind = Fault::Kind::misconfigured;
    }
    return fault;
  }
  constexpr std::size_t longest_welcome = std::size_t{1} << 20;
  Inflow inflow{longest_welcome};
  // As libpq's documentation requires: as if the first call had returned this.
  for (auto state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK;) {
    if (state == PGRES_POLLING_FAILED) return made.connect_fault();
    const auto want = state == PGRES_POLLING_READING ? os::Want::read : os::Want::write;
    switch (wait_for_server(library.socket(connection), want, limit)) {
      case os::Ready::yes: break;
      case os::Ready::interrupted: return Fault{Fault::Kind::unreachable, std::string{cut_short}};
      case os::Ready::timed_out:
        return Fault{Fault::Kind::unreachable, "the server does not let us in in time"};
    }
    if (auto too_much = inflow.count(library.socket(connection))) return *std::move(too_much);
    state = library.connect_poll(connection);
  }
  limit.note_connected();
  library.set_nonblocking(connection, 1);
  return made;
}

Result<Connection> Connection::open(const PostgreSql& database, const CallLimit& limit) {
  const auto& library = libpq();
  if (!library) return Fault{Fault::Kind::misconfigured, library.error()};
  auto servers = servers_of(*library, database);
  if (!servers) return std::move(servers).error();
  std::optional<Fault> worst;
  for (std::size_t i = 0; i < servers->size(); ++i) {
    const auto now = base::now();
    const auto share =
        limit.until.is_never()
            ? limit
            : limit.at_most(Deadline::after(
                  now, limit.until.left(now) / static_cast<std::int64_t>(servers->size() - i)));
    auto opened = open_one(*library, (*servers)[i], share);
    if (opened) {
      base::log::Event{"connected"}
          .with("server", opened->library_->host(opened->connection_.get()))
          .trace("connected to {}{} as {}",
                 base::printable(opened->library_->host(opened->connection_.get())),
                 opened->is_tls() ? " over TLS" : "", base::printable(opened->user()));
      return opened;
    }
    Fault fault = std::move(opened).error();
    // A server that may accept us later counts more than one that never will.
    const bool counts =
        !worst || worst->kind == Fault::Kind::denied || worst->kind == Fault::Kind::misconfigured;
    if (counts) worst = std::move(fault);
    if (os::ended(limit)) break;
  }
  return *std::move(worst);
}

std::string Connection::option(std::string_view name) const {
  const Options options{library_->conninfo(connection_.get()), {library_}};
  for (const auto* each = options.get(); each != nullptr && each->keyword != nullptr; ++each) {
    if (name == each->keyword && each->val != nullptr) return each->val;
  }
  return {};
}

bool Connection::is_local() const {
  const std::string_view host = library_->host(connection_.get());
  return host.empty() || host.starts_with('/') || host.starts_with('@');
}

bool Connection::hung_up() const {
  return descriptor() < 0 || os::is_hung_up(descriptor());
}

// ---- asking -------------------------------------------------------------------------------------

std::string Connection::without_secret(std::string words) const {
  const char* const password = library_->password(connection_.get());
  const std::string_view secret = password == nullptr ? "" : password;
  constexpr std::string_view stars = "****";
  if (secret.empty()) return words;
  for (auto at = words.find(secret); at != words.npos; at = words.find(secret, at + stars.size())) {
    words.replace(at, secret.size(), stars);
  }
  return words;
}

Refusal Connection::broken() const {
  const std::string message = without_secret(library_->error_message(connection_.get()));
  return {"", {Fault::Kind::silent, "the connection broke: " + first_line(message)}};
}

base::Result<Rows, Refusal> Connection::ask(const char* statement, const std::vector<Value>& values,
                                            std::size_t longest_answer, const CallLimit& limit) {
  const Arguments arguments{values};
  std::vector<const char*> texts;
  std::vector<int> lengths;
  for (const auto& text : arguments.texts) {
    texts.push_back(text.data());
    lengths.push_back(static_cast<int>(text.size()));
  }
  const std::vector<int> binary(values.size(), 1);
  const int sent = library_->send_query_params(
      connection_.get(), statement, static_cast<int>(values.size()), arguments.types.data(),
      texts.data(), lengths.data(), binary.data(), 1);
  return sent == 1 ? answer(longest_answer, limit) : broken();
}

base::Result<Rows, Refusal> Connection::run(const char* statements, const CallLimit& limit) {
  constexpr std::size_t longest = 65536;
  return library_->send_query(connection_.get(), statements) == 1 ? answer(longest, limit)
                                                                  : broken();
}

base::Result<Rows, Refusal> Connection::answer(std::size_t longest, const CallLimit& limit) {
  PGconn* const connection = connection_.get();
  Inflow inflow{longest};
  const auto consume = [&]() -> std::optional<Refusal> {
    if (auto too_much = inflow.count(descriptor())) return Refusal{"", *std::move(too_much)};
    return library_->consume_input(connection) == 1 ? std::nullopt : std::optional{broken()};
  };
  for (int left = library_->flush(connection); left != 0; left = library_->flush(connection)) {
    if (left < 0) return broken();
    const auto ready = wait_for_server(descriptor(), os::Want::write, limit);
    if (ready != os::Ready::yes) return Refusal{"", not_answered(ready)};
    // A server that sends before it reads would otherwise never read.
    if (!os::is_readable(descriptor())) continue;
    if (auto failed = consume()) return *std::move(failed);
  }
  std::optional<Rows> rows;
  std::optional<Refusal> refusal;
  for (;;) {
    while (library_->is_busy(connection) != 0) {
      const auto ready = wait_for_server(descriptor(), os::Want::read, limit);
      if (ready != os::Ready::yes) return Refusal{"", not_answered(ready)};
      if (auto failed = consume()) return *std::move(failed);
    }
    Rows next{*library_, library_->get_result(connection)};
    if (!next.result_) break;
    switch (library_->result_status(next.result_.get())) {
      case PGRES_COMMAND_OK:
      case PGRES_TUPLES_OK:
        if (!refusal) rows = std::move(next);
        break;
      case PGRES_FATAL_ERROR:
        if (!refusal) refusal = refusal_in(next);
        // The transaction ends after its answer.
        if (rows && refusal->fault.kind != Fault::Kind::unavailable) {
          refusal->fault.kind = Fault::Kind::silent;
        }
        break;
      default:  // PQgetResult() would return it again and again
        return Refusal{"", nonsense()};
    }
    if (library_->status(connection) == CONNECTION_BAD) break;
  }
  if (refusal) return *std::move(refusal);
  return rows ? base::Result<Rows, Refusal>{*std::move(rows)} : broken();
}

Refusal Connection::refusal_in(const Rows& failed) const {
  const std::string code{failed.error_field(PG_DIAG_SQLSTATE)};
  if (code.empty()) return broken();
  const std::string words =
      without_secret(std::string{failed.error_field(PG_DIAG_MESSAGE_PRIMARY)});
  return {code,
          {kind_of(code), fmt::format("the server says: {} (SQLSTATE {})", first_line(words),
                                      base::printable(code))}};
}

Result<std::optional<std::string>> Connection::next_notification() {
  PGconn* const connection = connection_.get();
  constexpr std::size_t longest = 65536;  // PostgreSQL's own are shorter than 8000
  unread_ += os::readable_bytes(descriptor());
  if (unread_ > longest) return Fault{Fault::Kind::unusable, "an implausibly long notification"};
  if (library_->consume_input(connection) != 1) return broken().fault;
  PGnotify* const got = library_->notifies(connection);
  if (got == nullptr) return std::optional<std::string>{};
  unread_ = 0;
  std::optional<std::string> text{got->extra};
  library_->free_memory(got);
  return text;
}

}  // namespace store::postgres
