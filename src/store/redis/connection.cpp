#include "store/redis/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/log.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "os/net.hpp"
#include "store/redis/tls.hpp"

namespace store::redis {
namespace {

/// What a reader of hiredis makes of an answer; it has no other way to hand that out.
const redisReplyObjectFunctions& usual() {
  static const redisReplyObjectFunctions functions = [] {
    redisReader* reader = redisReaderCreate();
    const redisReplyObjectFunctions copy = *reader->fn;
    redisReaderFree(reader);
    return copy;
  }();
  return functions;
}

int depth_of(const redisReadTask* task) {
  int depth = 1;
  while ((task = task->parent) != nullptr) ++depth;
  return depth;
}

// A server's error is text for people, of any length and content.
constexpr std::size_t longest_words = 200;
// Words of our own scripts, which may name a key of 1024 bytes.
constexpr std::size_t longest_refusal = 1'400;
// So is a host that it names.
constexpr std::size_t longest_host = 100;

Fault unanswered(os::Ready why) {
  return {Fault::Kind::silent,
          std::string{why == os::Ready::interrupted ? cut_short : "no answer in time"}};
}

Fault too_large() {
  return {Fault::Kind::unusable, "an implausibly large answer"};
}

bool mentions(std::string_view error, std::string_view code) {
  // At the start; or, from within a script, further on: "ERR Error running script … -OOM …".
  if (error.starts_with(code)) return true;
  const auto at = error.find(code);
  return at != std::string_view::npos && error[at - 1] == '-';
}

/// An error that says what to do.
bool is_instruction(std::string_view error) {
  return error.starts_with("NOSCRIPT") || error.starts_with("MOVED ") || error.starts_with("ASK ");
}

template <std::size_t N>
bool mentions_any(std::string_view error, const std::array<std::string_view, N>& codes) {
  return std::any_of(codes.begin(), codes.end(),
                     [&](std::string_view code) { return mentions(error, code); });
}

/// Whether the error has one of these, which are in small letters, whatever its own are.
template <std::size_t N>
bool says_any(std::string_view error, const std::array<std::string_view, N>& words) {
  std::string small{error.substr(0, longest_words)};
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; });
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view each) { return small.find(each) != small.npos; });
}

/// Without the script's name and line, which tell a user nothing: older servers say them before the
/// error's own words, newer ones behind them.
std::string_view without_script(std::string_view error) {
  error = error.substr(0, error.find(" script: "));
  const auto name = error.rfind("@user_script");
  const auto begin = name == error.npos ? name : error.find(": -", name);
  return begin == error.npos ? error : error.substr(begin + 3);
}

}  // namespace

bool ReplyLimits::take(const redisReader& reader, std::size_t bytes) {
  if (bytes > bytes_) return false;
  bytes_ -= bytes;
  // What comes before a text is a line as well, so there is an end near in any case.
  return reader.len - reader.pos <= longest_line ||
         std::memchr(reader.buf + reader.pos, '\n', longest_line) != nullptr;
}

template <class Size>  // it was an int before hiredis 1.0
void* ReplyLimits::create_array(const redisReadTask* task, Size size) {
  auto& left = static_cast<ReplyLimits*>(task->privdata)->elements_;
  const auto elements = static_cast<std::size_t>(size);
  if (elements > left || depth_of(task) > deepest) return nullptr;
  left -= elements;
  return usual().createArray(task, size);
}

void ReplyLimits::rule(redisReader& reader) {
  static redisReplyObjectFunctions functions = [] {
    redisReplyObjectFunctions copy = usual();
    copy.createArray = create_array;
    return copy;
  }();
  reader.fn = &functions;
  reader.privdata = this;
}

Fault classify(std::string_view error) {
  // Our own scripts' words, which name the key.
  static constexpr std::string_view ours = "RLOCK ";
  if (error.starts_with(ours)) {
    return {Fault::Kind::misconfigured,
            base::printable(error.substr(ours.size()), longest_refusal)};
  }
  // Credentials and permissions: asking again cannot help.
  static constexpr std::array<std::string_view, 6> denials{
      "WRONGPASS", "NOPERM", "ERR invalid password", "ERR AUTH", "ERR Client sent AUTH", "DENIED"};
  // It cannot now; another moment, or another server behind the same name, can.
  static constexpr std::array<std::string_view, 11> excuses{"LOADING",
                                                            "READONLY",
                                                            "MASTERDOWN",
                                                            "CLUSTERDOWN",
                                                            "TRYAGAIN",
                                                            "UNBLOCKED",
                                                            "MISCONF",
                                                            "OOM",
                                                            "NOREPLICAS",
                                                            "BUSY",
                                                            "ERR max number of clients"};
  // What a proxy (Envoy, twemproxy, Codis, Predixy) says of a server that it cannot reach.
  static constexpr std::array<std::string_view, 11> server_away{
      "upstream",          "connection refused", "connection reset",     "connection timed out",
      "connection closed", "closed connection",  "connection is closed", "host is down",
      "no route to host",  "unreachable",        "broken pipe"};
  // Before AUTH Redis reads no command of more than 10 words, and says so in place of NOAUTH.
  if (error.starts_with("NOAUTH") || error.find("unauthenticated") != std::string_view::npos) {
    return {Fault::Kind::denied,
            "the server says: NOAUTH Authentication required; a password comes from "
            "--password-file, from REDISCLI_AUTH or from the URL"};
  }
  if (error.starts_with("CROSSSLOT")) {
    return {Fault::Kind::unusable,
            "this key's companions would lie in another slot of the Cluster: use a key without "
            "unpaired "
            "or empty braces"};
  }
  // In the words of Redis 7.0, of later ones, and of 8.
  static constexpr std::array<std::string_view, 3> denials_in_script{
      "user executing the script can't", "can't run this command or subcommand",
      "ACL failure in script"};
  const bool denied_in_script =
      std::any_of(denials_in_script.begin(), denials_in_script.end(),
                  [&](std::string_view words) { return error.find(words) != error.npos; });
  auto kind = Fault::Kind::unusable;
  if (denied_in_script || mentions_any(error, denials)) {
    kind = Fault::Kind::denied;
  } else if (mentions_any(error, excuses) || says_any(error, server_away)) {
    kind = Fault::Kind::unavailable;
  }
  // From within a script not every server says which right it is.
  const char* more =
      denied_in_script ? "; rlock-protocol(7) lists the rights that rlock needs" : "";
  if (kind != Fault::Kind::unusable) error = without_script(error);
  return {kind, "the server says: " + base::printable(error, longest_words) + more};
}

bool refuses_command(const Fault& fault) {
  // In the words of Redis, from within a script, of Envoy, and of managed servers.
  static constexpr std::array<std::string_view, 6> refusals{
      "unknown command",     "unknown redis command", "unsupported command",
      "command not allowed", "is not allowed",        "not support"};
  if (fault.kind == Fault::Kind::denied) return true;
  return fault.kind == Fault::Kind::unusable && says_any(fault.why, refusals);
}

Fault named(const RedisServer::Tcp& where, Fault fault) {
  fault.why = fmt::format("{}:{}: {}", base::printable(where.host, longest_host),
                          base::printable(where.port, longest_host), fault.why);
  return fault;
}

Fault on_the_way(const RedisServer::Tcp& where, Fault fault) {
  if (fault.kind == Fault::Kind::silent) fault.kind = Fault::Kind::unreachable;
  return named(where, std::move(fault));
}

/// Never with the password, nor the commands that have it.
void say_connected(const RedisServer::Address& address, const RedisServer::Access& access) {
  if (!base::log::is_said(base::log::Severity::trace)) return;
  const std::string where = base::match(
      address, [](const RedisServer::Tcp& tcp) { return tcp.host + ":" + tcp.port; },
      [](const RedisServer::Unix& unix_) { return unix_.path; });
  const std::string& user = access.login.user;
  base::log::Event{"connected"}
      .with("server", where)
      .trace("connected to {}{}{}", base::printable(where), access.tls ? " over TLS" : "",
             user.empty() ? "" : " as " + base::printable(user));
}

Result<Connection> Connection::open(const RedisServer::Address& address,
                                    const RedisServer::Access& access, const CallLimit& limit) {
  os::Result<os::Fd> connected = base::match(
      address,
      [&](const RedisServer::Tcp& tcp) { return os::connect_tcp(tcp.host, tcp.port, limit); },
      [&](const RedisServer::Unix& unix_) { return os::connect_unix(unix_.path, limit); });
  if (!connected) return Fault{Fault::Kind::unreachable, connected.error().text()};
  redisContext* context = redisConnectFd(connected->number());
  if (context == nullptr) throw std::bad_alloc{};
  (void)connected->release();  // the context closes it
  limit.note_connected();
  Connection connection{context};
  connection.limits_->rule(*context->reader);
  const auto* tcp = std::get_if<RedisServer::Tcp>(&address);
  connection.may_want_tls_ = tcp != nullptr && !access.tls;
  if (tcp != nullptr && access.tls) {
    auto secured = start_tls(*context, *access.tls, tcp->host, limit);
    if (!secured) return std::move(secured).error();
  }
  if (auto greeted = connection.greet(access, limit); !greeted) return std::move(greeted).error();
  say_connected(address, access);
  return connection;
}

Result<base::Done> Connection::greet(const RedisServer::Access& access, const CallLimit& limit) {
  const auto& login = access.login;
  const auto tell = [&](const Command& command) -> Result<base::Done> {
    auto answer = ask(command, limit);
    if (answer) return base::Done{};
    Fault fault = std::move(answer).error();
    // Nothing of ours can have happened yet.
    if (fault.kind == Fault::Kind::silent) fault.kind = Fault::Kind::unreachable;
    return fault;
  };
  const auto log_in = [&](const base::Secret& password) {
    told_.push_back(password);
    Command auth{"AUTH"};
    if (!login.user.empty()) auth.push_back(login.user);
    auth.push_back(password.reveal());
    return tell(auth);
  };
  const auto password = login.file ? login.file->password() : login.password;
  // A user without a password is one all the same: without AUTH we would be the default user.
  if (!login.user.empty() || !password.empty()) {
    auto allowed = log_in(password);
    const bool refused = !allowed && allowed.error().kind == Fault::Kind::denied;
    if (refused && login.file) {
      // It may have been replaced since we read it: once for each connection.
      if (const auto newer = login.file->newer_than(password)) allowed = log_in(*newer);
    }
    if (!allowed) return allowed;
  }
  return access.database == 0 ? base::Done{} : tell({"SELECT", std::to_string(access.database)});
}

Fault Connection::broken() const {
  const std::string why = base::printable(context_->errstr);
  if (refused_by_tls(*context_)) return {Fault::Kind::denied, why};
  return {Fault::Kind::silent, "the connection broke: " + why +
                                   (may_want_tls_ ? " (does it want TLS, rediss://?)" : "")};
}

bool Connection::hung_up() const {
  return os::is_hung_up(descriptor());
}

Result<base::Done> Connection::send(const Command& command, const CallLimit& limit) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : command) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  redisAppendCommandArgv(context_.get(), static_cast<int>(command.size()), texts.data(),
                         sizes.data());
  for (int done = 0;;) {
    if (redisBufferWrite(context_.get(), &done) != REDIS_OK) return broken();
    if (done != 0) return base::Done{};
    const auto ready = os::wait_for(descriptor(), os::Want::write, limit);
    if (ready != os::Ready::yes) return unanswered(ready);
  }
}

Result<std::optional<Reply>> Connection::receive(const CallLimit& limit) {
  redisReader& reader = *context_->reader;
  for (bool first = true;; first = false) {
    void* reply = nullptr;
    if (redisReaderGetReply(&reader, &reply) != REDIS_OK) {
      return reader.err == REDIS_ERR_OOM
                 ? too_large()
                 : Fault{Fault::Kind::unusable, "not an answer of a Redis server"};
    }
    if (reply != nullptr) {
      limits_->renew();
      return std::optional{Reply{static_cast<redisReply*>(reply)}};
    }
    // A server that never stops talking is always ready to be read.
    if (!first && limit.until.passed(base::now())) return std::optional<Reply>{};
    if (os::wait_for(descriptor(), os::Want::read, limit) != os::Ready::yes) {
      return std::optional<Reply>{};
    }
    const std::size_t before = reader.len;
    if (redisBufferRead(context_.get()) != REDIS_OK) return broken();
    if (!limits_->take(reader, reader.len - before)) return too_large();
    may_want_tls_ = false;
  }
}

Result<Reply> Connection::ask(const Command& command, const CallLimit& limit) {
  if (auto sent = send(command, limit); !sent) return std::move(sent).error();
  auto answer = receive(limit);
  if (!answer) return std::move(answer).error();
  if (!*answer) {
    const bool late = limit.until.passed(base::now());
    return unanswered(late ? os::Ready::timed_out : os::Ready::interrupted);
  }
  Reply& reply = **answer;
  if (reply.is_error() && !is_instruction(reply.text())) return fault_in(reply);
  return std::move(reply);
}

Fault Connection::fault_in(const Reply& error) const {
  // Redis cuts the arguments that it repeats, so a part of a long password would not be found.
  const std::string_view words = error.text();
  std::string text{words.substr(0, words.find(", with args beginning with"))};
  for (const base::Secret& each : told_) {
    const std::string& secret = each.reveal();
    constexpr std::string_view stars = "****";
    if (secret.empty()) continue;
    for (auto at = text.find(secret); at != text.npos; at = text.find(secret, at + stars.size())) {
      text.replace(at, secret.size(), stars);
    }
  }
  return classify(text);
}

}  // namespace store::redis
