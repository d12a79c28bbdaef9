// Source: https://etcd.io/docs/v3.4/dev-guide/api_grpc_gateway/
#include "store/etcd/gateway.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "store/etcd/backoff.hpp"

namespace store::etcd {
namespace {

constexpr std::size_t longest_message = 200;
constexpr std::size_t longest_token = std::size_t{4} << 10;

/// One member's share of the time: half of what is left, so that others have some.
CallLimit share_of(const CallLimit& limit) {
  const auto now = base::now();
  return limit.at_most(
      Deadline::after(now, std::min(limit.until.left(now) / 2, Gateway::longest_wait)));
}

Fault::Kind kind_of(const Trouble& trouble) {
  switch (static_cast<Code>(trouble.code)) {
    case Code::denied:
    case Code::unauthenticated: return Fault::Kind::denied;
    case Code::exhausted: return Fault::Kind::unavailable;
    case Code::invalid: {
      const bool of_login = trouble.says("user name is empty") ||
                            trouble.says("authentication failed") ||
                            trouble.says("revision of auth store is old");
      return of_login ? Fault::Kind::denied : Fault::Kind::unusable;
    }
    case Code::none:
    case Code::not_found:
    case Code::precondition: return Fault::Kind::unusable;
    case Code::unavailable: {
      // Said before anything is proposed to the others; of all else the outcome is open.
      const bool nothing_done = trouble.says("no leader") || trouble.says("learner");
      return nothing_done ? Fault::Kind::unavailable : Fault::Kind::silent;
    }
    default: return Fault::Kind::silent;  // unknown, canceled, internal
  }
}

/// Whether a token is refused that a new one would replace.
bool is_old_token(const Trouble& trouble) {
  return trouble.is(Code::unauthenticated) || trouble.says("revision of auth store is old");
}

/// Whether the next member may do better.
bool is_worth_another(const Trouble& trouble, Repeat repeat, bool was_sent) {
  switch (trouble.fault.kind) {
    case Fault::Kind::unreachable: return true;
    case Fault::Kind::unavailable: return trouble.is(Code::unavailable);
    case Fault::Kind::silent: return !was_sent || repeat == Repeat::yes;
    default: return false;
  }
}

/// Too many requests, a bad gateway, an unavailable service, or a gateway that waited too long:
/// whether the member has the question is unknown, and another may answer.
bool is_of_proxy(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

bool is_header_value(const std::string& text) {
  return !text.empty() && text.size() <= longest_token &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

base::Result<Json, Trouble> meaning_of(const HttpAnswer& answer) {
  constexpr int fine = 200;
  auto json = json_in(answer.body);
  const auto strange = [&](std::string_view why) -> Trouble {
    return {{Fault::Kind::unusable, fmt::format("{} (HTTP {})", why, answer.status)}};
  };
  if (!json && answer.body.find("CommonName") != std::string::npos) {
    return Trouble{{Fault::Kind::denied,
                    "etcd's gateway accepts no client certificate with a common name (CN): use one "
                    "without"}};
  }
  if (!json && is_of_proxy(answer.status)) {
    return Trouble{{Fault::Kind::silent,
                    fmt::format("a proxy answers for the member (HTTP {})", answer.status)}};
  }
  if (!json) return strange("no answer of etcd's JSON gateway");
  // A stream wraps what it tells, and answers 200 in any case.
  const Json& error = member_of(*json, "error");
  if (answer.status == fine && error.is_null()) {
    const Json& result = member_of(*json, "result");
    return result.is_object() ? Json(result) : *std::move(json);
  }
  const Json& details = error.is_object() ? error : *json;
  Trouble trouble{{}, 0, text_of(details, "message")};
  trouble.code = number_of(details, error.is_object() ? "grpc_code" : "code").value_or(0);
  if (trouble.message.empty()) trouble.message = text_of(*json, "error");
  if (trouble.code == 0 || trouble.message.empty()) {
    return strange("no answer of etcd's JSON gateway");
  }
  trouble.fault = {kind_of(trouble), base::printable(trouble.message, longest_message)};
  return trouble;
}

bool Gateway::shows_secret(std::string_view text) const {
  const auto& password = cluster_.password.reveal();
  return (!password.empty() && text.find(password) != std::string_view::npos) ||
         (!token_.empty() && text.find(token_) != std::string_view::npos);
}

void Gateway::leave_member() {
  connection_.reset();
  ++at_;
  ++changes_;
}

Result<base::Done> Gateway::connect(const CallLimit& limit) {
  if (connection_ && connection_->is_usable()) return base::Done{};
  connection_.reset();
  Fault last{Fault::Kind::unreachable, "no member answers"};
  for (std::size_t tries = 0; tries < cluster_.members.size(); ++tries) {
    const bool is_last = tries + 1 == cluster_.members.size();
    auto opened = Connection::open(member(), tls(), is_last ? limit : share_of(limit));
    if (opened) {
      connection_ = *std::move(opened);
      return base::Done{};
    }
    last = std::move(opened).error();
    leave_member();
    if (os::ended(limit)) break;
  }
  return last;
}

base::Result<Gateway::Reply, Trouble> Gateway::ask_once(const char* path, const std::string& body,
                                                        const CallLimit& share,
                                                        const CallLimit& limit, bool& was_sent) {
  hung_up_ = false;
  is_heard_ = false;
  if (auto there = connect(limit); !there) return Trouble{std::move(there).error()};
  const Moment sent_at = base::now();
  if (auto sent = connection_->send(path, token_, body, share); !sent) {
    return Trouble{std::move(sent).error()};
  }
  was_sent = true;
  const auto answer = connection_->answer(share);
  hung_up_ = !answer && answer.error().kind == Fault::Kind::silent && !os::ended(share);
  if (!answer) {
    Trouble trouble{answer.error()};
    // A member that wants TLS hangs up at what is none.
    if (hung_up_ && !has_answered_ && !cluster_.tls) trouble.fault.why += " (for TLS: etcds://)";
    return trouble;
  }
  has_answered_ = true;
  is_heard_ = true;
  auto meaning = meaning_of(*answer);
  if (!meaning) {
    Trouble trouble = std::move(meaning).error();
    if (shows_secret(trouble.fault.why)) trouble.fault.why = "an error that repeats a secret";
    return trouble;
  }
  return Reply{*std::move(meaning), sent_at};
}

base::Result<Gateway::Reply, Trouble> Gateway::ask(const char* path, const std::string& body,
                                                   Repeat repeat, const CallLimit& limit) {
  Backoff pauses{longest_pause};
  bool logged_in_anew = false;
  std::optional<Trouble> told;  // the last that a server said
  for (std::size_t tries = 1;; ++tries) {
    if (auto in = authenticate(limit); !in) return Trouble{std::move(in).error()};
    bool was_sent = false;
    auto reply = ask_once(path, body, share_of(limit), limit, was_sent);
    if (reply) return reply;
    const Trouble& trouble = reply.error();
    if (is_old_token(trouble) && !cluster_.user.empty() && !logged_in_anew) {
      logged_in_anew = true;
      has_no_auth_ = false;
      forget_token();
      continue;
    }
    if (!trouble.message.empty() || hung_up_) told = trouble;
    const bool again = is_worth_another(trouble, repeat, was_sent) &&
                       trouble.fault.why != cut_short && !os::ended(limit);
    // connect() has tried all of them.
    if (trouble.fault.kind == Fault::Kind::unreachable) return reply;
    const bool is_silent =
        trouble.fault.kind == Fault::Kind::silent && trouble.fault.why != cut_short;
    if (again || is_silent) leave_member();
    if (!again) {
      if (!told || !is_silent) return reply;
      // It explains the silence better than the end of our patience.
      if (was_sent) told->fault.kind = Fault::Kind::silent;
      return *std::move(told);
    }
    if (tries % cluster_.members.size() != 0) continue;
    os::wait_any({limit.interrupt},
                 std::min(limit.until, Deadline::after(base::now(), pauses.next())));
  }
}

void Gateway::post(const char* path, const std::string& body, const CallLimit& limit) {
  if (!connect(limit)) return;
  (void)connection_->send(path, token_, body, share_of(limit));
}

/// Unless we have a token, or need none.
Result<base::Done> Gateway::authenticate(const CallLimit& limit) {
  if (cluster_.user.empty() || has_no_auth_ || !token_.empty()) return base::Done{};
  const Json login{{"name", cluster_.user}, {"password", cluster_.password.reveal()}};
  const auto text = login.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (std::size_t tries = 1;; ++tries) {
    bool was_sent = false;
    // The server takes its time on purpose (bcrypt), and a busy one seconds: to begin anew would
    // only make it slower.
    const CallLimit share = cluster_.members.size() == 1 ? limit : share_of(limit);
    auto reply = ask_once("/v3/auth/authenticate", text, share, limit, was_sent);
    if (reply) {
      token_ = text_of(reply->json, "token");
      if (is_header_value(token_)) return base::Done{};
      token_.clear();
      return Fault{Fault::Kind::unusable, "no token in the answer to the password"};
    }
    const Trouble& trouble = reply.error();
    if (trouble.is(Code::precondition) && trouble.says("not enabled")) {
      has_no_auth_ = true;
      return base::Done{};
    }
    const bool again = is_worth_another(trouble, Repeat::yes, was_sent) &&
                       trouble.fault.kind != Fault::Kind::unreachable && !os::ended(limit);
    if (!again || tries >= cluster_.members.size()) return trouble.fault;
    leave_member();
  }
}

Result<std::unique_ptr<Connection>> Gateway::open_stream(const char* path, const std::string& body,
                                                         const CallLimit& limit) {
  if (auto in = authenticate(limit); !in) return std::move(in).error();
  auto opened = Connection::open(member(), tls(), share_of(limit));
  if (!opened) {
    leave_member();
    return std::move(opened).error();
  }
  if (auto sent = (*opened)->send(path, token_, body, share_of(limit)); !sent) {
    return std::move(sent).error();
  }
  return opened;
}

}  // namespace store::etcd
