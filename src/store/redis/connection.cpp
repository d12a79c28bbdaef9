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

/// The usual object functions of hiredis, which are only available from a reader.
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
// Errors of our own scripts, which may name a key of 1024 bytes.
constexpr std::size_t longest_refusal = 1'400;
// Likewise for a host in it.
constexpr std::size_t longest_host = 100;

Fault unanswered(os::Ready why) {
  return {Fault::Kind::silent,
          std::string{why == os::Ready::interrupted ? cut_short : "no answer in time"}};
}

Fault too_large() {
  return {Fault::Kind::unusable, "an implausibly large answer"};
}

bool mentions(std::string_view error, std::string_view code) {
  // At the start, or later in an error from a script: "ERR Error running script … -OOM …".
  if (error.starts_with(code)) return true;
  const auto at = error.find(code);
  return at != std::string_view::npos && error[at - 1] == '-';
}

/// An error that tells the client what to do.
bool is_instruction(std::string_view error) {
  return error.starts_with("NOSCRIPT") || error.starts_with("MOVED ") || error.starts_with("ASK ");
}

template <std::size_t N>
bool mentions_any(std::string_view error, const std::array<std::string_view, N>& codes) {
  return std::any_of(codes.begin(), codes.end(),
                     [&](std::string_view code) { return mentions(error, code); });
}

/// Whether the error, in any case, contains one of `words`, which are in lower case.
template <std::size_t N>
bool says_any(std::string_view error, const std::array<std::string_view, N>& words) {
  std::string small{error.substr(0, longest_words)};
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; });
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view each) { return small.find(each) != small.npos; });
}

/// Without the script's name and line, which mean nothing to a user: older servers put them before
/// the error, newer ones behind it.
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
  // The header of a text is also a line, so an end is near in any case.
  return reader.len - reader.pos <= longest_line ||
         std::memchr(reader.buf + reader.pos, '\n', longest_line) != nullptr;
}

template <class Size>  // an int before hiredis 1.0
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
  // Errors of our own scripts, which name the key.
  static constexpr std::string_view ours = "RLOCK ";
  if (error.starts_with(ours)) {
    return {Fault::Kind::misconfigured,
            base::printable(error.substr(ours.size()), longest_refusal)};
  }
  // Credentials and permissions: a retry cannot help.
  static constexpr std::array<std::string_view, 6> denials{
      "WRONGPASS", "NOPERM", "ERR invalid password", "ERR AUTH", "ERR Client sent AUTH", "DENIED"};
  // Temporary: a later try, or another server behind the same name, can succeed.
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
  // Errors of proxies (Envoy, twemproxy, Codis, Predixy) about a server that they cannot reach.
  static constexpr std::array<std::string_view, 11> server_away{
      "upstream",          "connection refused", "connection reset",     "connection timed out",
      "connection closed", "closed connection",  "connection is closed", "host is down",
      "no route to host",  "unreachable",        "broken pipe"};
  // Before AUTH, Redis rejects commands of more than 10 words with this error instead of NOAUTH.
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
  // As worded by Redis 7.0, by later versions, and by 8.
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
  // From a script, not every server says which right is missing.
  const char* more =
      denied_in_script ? "; rlock-protocol(7) lists the rights that rlock needs" : "";
  if (kind != Fault::Kind::unusable) error = without_script(error);
  return {kind, "the server says: " + base::printable(error, longest_words) + more};
}

bool refuses_command(const Fault& fault) {
  // As worded by Redis, from a script, by Envoy, and by managed servers.
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

/// Must not log the password, nor the commands that contain it.
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
    // No request of ours has been sent yet.
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
  // Log in even without a password: otherwise we would be the default user.
  if (!login.user.empty() || !password.empty()) {
    auto allowed = log_in(password);
    const bool refused = !allowed && allowed.error().kind == Fault::Kind::denied;
    if (refused && login.file) {
      // The password may have been replaced since we read it: try once for each connection.
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

Result<base::Done> Connection::send(std::span<const Command> commands, const CallLimit& limit) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const Command& command : commands) {
    texts.clear();
    sizes.clear();
    for (const std::string& word : command) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    redisAppendCommandArgv(context_.get(), static_cast<int>(command.size()), texts.data(),
                           sizes.data());
  }
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
    // A server that never stops sending is always readable.
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
  return answer(limit);
}

Result<Reply> Connection::answer(const CallLimit& limit) {
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
  // Redis shortens the arguments that it quotes, so a search would miss a part of a long password.
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
