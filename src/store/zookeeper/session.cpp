#include "store/zookeeper/session.hpp"

#include <algorithm>

#include "os/file.hpp"
#include "os/poll.hpp"
#include "store/zookeeper/call.hpp"

namespace store::zookeeper {
namespace {

// While no server can be reached the library has nothing to wait for.
constexpr Millis between_attempts{20};

template <class Result>
bool missing(const std::variant<Result, Fault>& answer) {
  const auto* fault = std::get_if<Fault>(&answer);
  return fault != nullptr && fault->why == zerror(ZNONODE);
}

}  // namespace

std::variant<std::unique_ptr<Session>, Fault> Session::open(const ZooKeeper& ensemble,
                                                            Millis timeout,
                                                            const Patience& patience) {
  zoo_set_debug_level(static_cast<ZooLogLevel>(0));  // it would write to our stderr
  std::unique_ptr<Session> session{new Session};
  constexpr Millis::rep most = 1'000'000'000;
  session->handle_ =
      zookeeper_init(ensemble.hosts.c_str(), on_event,
                     static_cast<int>(std::min(timeout.count(), most)), nullptr, session.get(), 0);
  if (session->handle_ == nullptr) {
    return Fault{Fault::Kind::unreachable, "no such host"};
  }
  if (!ensemble.user.empty()) {
    const std::string login = ensemble.user + ":" + ensemble.password.reveal();
    session->secured_ = true;
    zoo_add_auth(
        session->handle_, "digest", login.data(), static_cast<int>(login.size()),
        [](int, const void*) {}, nullptr);
  }
  if (auto fault = session->await_connection(patience)) return *std::move(fault);
  return session;
}

Session::~Session() {
  // Says goodbye, if there is a connection: its nodes are gone at once.
  if (handle_ != nullptr) zookeeper_close(handle_);
}

void Session::on_event(zhandle_t* /*handle*/, int type, int state, const char* path,
                       void* context) {
  auto& session = *static_cast<Session*>(context);
  if (state == ZOO_AUTH_FAILED_STATE) session.refused_ = true;
  if (type != ZOO_SESSION_EVENT && path != nullptr) session.changed_.insert(path);
}

bool Session::connected() const {
  return zoo_state(handle_) == ZOO_CONNECTED_STATE;
}

bool Session::expired() const {
  return zoo_state(handle_) == ZOO_EXPIRED_SESSION_STATE;
}

Millis Session::timeout() const {
  return Millis{zoo_recv_timeout(handle_)};
}

bool Session::is_ours(const Stat& stat) const {
  return stat.ephemeralOwner == zoo_client_id(handle_)->client_id;
}

void Session::step(const Patience& patience) {
  int interest = 0;
  timeval wait{};
  const int code = zookeeper_interest(handle_, &socket_, &interest, &wait);
  if (socket_ >= 0) os::close_on_exec(socket_);
  const auto now = base::now();
  const auto span = std::chrono::seconds{wait.tv_sec} + std::chrono::microseconds{wait.tv_usec};
  if (code != ZOK || socket_ < 0 || interest == 0) {
    os::wait_any({patience.interrupt},
                 std::min(patience.until, Deadline::after(now, between_attempts)));
    return;
  }
  const auto want = (interest & ZOOKEEPER_WRITE) != 0 ? os::Want::write : os::Want::read;
  const Deadline until = std::min(patience.until, Deadline::at(now + span));
  if (os::wait_for(socket_, want, {until, patience.interrupt}) == os::Ready::yes) {
    allowance_.enforce(socket_);
    zookeeper_process(handle_, interest);
  } else {
    zookeeper_process(handle_, 0);
  }
}

bool Session::process(const Patience& patience, const std::function<bool()>& until) {
  for (;;) {
    step(patience);
    if (until()) return true;
    if (patience.until.passed(base::now()) || os::is_readable(patience.interrupt)) return false;
  }
}

std::optional<Fault> Session::await_connection(const Patience& patience) {
  const bool there =
      connected() || process(patience, [&] { return connected() || expired() || refused_; });
  if (refused_) return Fault{Fault::Kind::denied, zerror(ZAUTHFAILED)};
  if (there) return std::nullopt;
  return Fault{Fault::Kind::unreachable, "no server answers"};
}

template <class Result>
std::variant<Result, Fault> Session::ask(const std::function<int(void*)>& start,
                                         const Patience& patience) {
  if (auto fault = await_connection(patience)) return *std::move(fault);
  allowance_.renew(socket_);
  const auto call = std::make_shared<Call<Result>>();
  auto reference = std::make_unique<Shared<Result>>(call);
  if (const int code = start(reference.get()); code != ZOK) return fault_of(code);
  (void)reference.release();  // the library's, until it answers
  if (!process(patience, [&] { return call->code.has_value(); })) {
    return Fault{Fault::Kind::silent, "no answer in time"};
  }
  if (*call->code != ZOK) return fault_of(*call->code);
  return std::move(call->result);
}

std::variant<std::string, Fault> Session::create(const std::string& path, const std::string& data,
                                                 int flags, const Patience& patience) {
  const ACL_vector* acl = secured_ ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
  return ask<std::string>(
      [&](void* call) {
        return zoo_acreate(handle_, path.c_str(), data.data(), static_cast<int>(data.size()), acl,
                           flags, created, call);
      },
      patience);
}

std::variant<std::optional<Node>, Fault> Session::get(const std::string& path, Watch watch,
                                                      const Patience& patience) {
  auto answer = ask<Node>(
      [&](void* call) {
        return zoo_aget(handle_, path.c_str(), watch == Watch::yes ? 1 : 0, got, call);
      },
      patience);
  if (missing(answer)) return std::nullopt;
  if (auto* fault = std::get_if<Fault>(&answer)) return std::move(*fault);
  return std::optional{std::get<Node>(std::move(answer))};
}

std::variant<std::vector<std::string>, Fault> Session::children(const std::string& path,
                                                                const Patience& patience) {
  auto answer = ask<std::vector<std::string>>(
      [&](void* call) { return zoo_aget_children(handle_, path.c_str(), 0, listed, call); },
      patience);
  if (missing(answer)) return std::vector<std::string>{};
  return answer;
}

std::variant<bool, Fault> Session::ask_of_node(const std::function<int(void*)>& start,
                                               const Patience& patience) {
  const auto answer = ask<bool>(start, patience);
  if (missing(answer)) return false;
  if (const auto* fault = std::get_if<Fault>(&answer)) return *fault;
  return true;
}

std::variant<bool, Fault> Session::set(const std::string& path, const std::string& data,
                                       const Patience& patience) {
  return ask_of_node(
      [&](void* call) {
        return zoo_aset(handle_, path.c_str(), data.data(), static_cast<int>(data.size()), -1,
                        done_stat, call);
      },
      patience);
}

std::variant<bool, Fault> Session::exists(const std::string& path, Watch watch,
                                          const Patience& patience) {
  return ask_of_node(
      [&](void* call) {
        return zoo_aexists(handle_, path.c_str(), watch == Watch::yes ? 1 : 0, done_stat, call);
      },
      patience);
}

std::variant<bool, Fault> Session::erase(const std::string& path, const Patience& patience) {
  return ask_of_node([&](void* call) { return zoo_adelete(handle_, path.c_str(), -1, done, call); },
                     patience);
}

std::variant<bool, Fault> Session::confirm(const std::string& path, const Patience& patience) {
  // The library keeps pointers to all of this until it answers, which may be after us.
  struct Question {
    std::string path;
    zoo_op_t operation{};
    zoo_op_result_t outcome{};
  };
  const auto question = std::make_shared<Question>(Question{path});
  zoo_check_op_init(&question->operation, question->path.c_str(), -1);
  questions_.push_back(question);
  auto answer = ask_of_node(
      [&](void* call) {
        return zoo_amulti(handle_, 1, &question->operation, &question->outcome, done, call);
      },
      patience);
  const auto* fault = std::get_if<Fault>(&answer);
  if (fault == nullptr || fault->kind != Fault::Kind::silent) questions_.clear();
  return answer;
}

}  // namespace store::zookeeper
