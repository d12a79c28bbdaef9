#include "store/zookeeper/session.hpp"

namespace store::zookeeper {
namespace {

template <class Result>
bool missing(const std::variant<Result, Fault>& answer) {
  const auto* fault = std::get_if<Fault>(&answer);
  return fault != nullptr && fault->why == zerror(ZNONODE);
}

}  // namespace

std::variant<std::unique_ptr<Session>, Fault> Session::open(const ZooKeeper& ensemble,
                                                            Millis timeout,
                                                            const CallLimit& limit) {
  auto opened = Connection::open(ensemble, timeout, limit);
  if (auto* fault = std::get_if<Fault>(&opened)) return std::move(*fault);
  auto& connection = std::get<std::unique_ptr<Connection>>(opened);
  return std::unique_ptr<Session>{new Session{std::move(connection), !ensemble.user.empty()}};
}

bool Session::is_ours(const Stat& stat) const {
  return stat.ephemeralOwner == zoo_client_id(connection_->handle())->client_id;
}

template <class Result>
std::variant<Result, Fault> Session::ask(const std::function<int(void*)>& start,
                                         const CallLimit& limit,
                                         const std::shared_ptr<const void>& question) {
  if (auto fault = connection_->await(limit)) return *std::move(fault);
  if (expired()) return fault_of(ZSESSIONEXPIRED);  // of which the library loses what it was given
  connection_->expect_answer();
  const auto call = std::make_shared<Call<Result>>();
  call->question = question;
  auto reference = std::make_unique<Shared<Result>>(call);
  if (const int code = start(reference.get()); code != ZOK) return fault_of(code);
  (void)reference.release();  // the library's, until it answers
  if (!process(limit, [&] { return call->code.has_value(); })) {
    return Fault{Fault::Kind::silent, "no answer in time"};
  }
  if (*call->code != ZOK) return fault_of(*call->code);
  return std::move(call->result);
}

std::variant<std::string, Fault> Session::create(const std::string& path, const std::string& data,
                                                 int flags, const CallLimit& limit) {
  const ACL_vector* acl = secured_ ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
  return ask<std::string>(
      [&](void* call) {
        return zoo_acreate(connection_->handle(), path.c_str(), data.data(),
                           static_cast<int>(data.size()), acl, flags, created, call);
      },
      limit);
}

std::variant<std::optional<Node>, Fault> Session::get(const std::string& path, Watch watch,
                                                      const CallLimit& limit) {
  auto answer = ask<Node>(
      [&](void* call) {
        return zoo_aget(connection_->handle(), path.c_str(), watch == Watch::yes ? 1 : 0, got,
                        call);
      },
      limit);
  if (missing(answer)) return std::nullopt;
  if (auto* fault = std::get_if<Fault>(&answer)) return std::move(*fault);
  return std::optional{std::get<Node>(std::move(answer))};
}

std::variant<std::vector<std::string>, Fault> Session::children(const std::string& path,
                                                                const CallLimit& limit) {
  auto answer = ask<std::vector<std::string>>(
      [&](void* call) {
        return zoo_aget_children(connection_->handle(), path.c_str(), 0, listed, call);
      },
      limit);
  if (missing(answer)) return std::vector<std::string>{};
  return answer;
}

std::variant<bool, Fault> Session::ask_of_node(const std::function<int(void*)>& start,
                                               const CallLimit& limit,
                                               const std::shared_ptr<const void>& question) {
  const auto answer = ask<bool>(start, limit, question);
  if (missing(answer)) return false;
  if (const auto* fault = std::get_if<Fault>(&answer)) return *fault;
  return true;
}

std::variant<bool, Fault> Session::set(const std::string& path, const std::string& data,
                                       const CallLimit& limit) {
  return ask_of_node(
      [&](void* call) {
        return zoo_aset(connection_->handle(), path.c_str(), data.data(),
                        static_cast<int>(data.size()), -1, done_stat, call);
      },
      limit);
}

std::variant<bool, Fault> Session::exists(const std::string& path, Watch watch,
                                          const CallLimit& limit) {
  return ask_of_node(
      [&](void* call) {
        return zoo_aexists(connection_->handle(), path.c_str(), watch == Watch::yes ? 1 : 0,
                           done_stat, call);
      },
      limit);
}

std::variant<bool, Fault> Session::erase(const std::string& path, const CallLimit& limit) {
  return ask_of_node(
      [&](void* call) { return zoo_adelete(connection_->handle(), path.c_str(), -1, done, call); },
      limit);
}

std::variant<bool, Fault> Session::confirm(const std::string& path, const CallLimit& limit) {
  // The library keeps pointers to all of this until it answers, which may be after us.
  struct Question {
    std::string path;
    zoo_op_t operation{};
    zoo_op_result_t outcome{};
  };
  const auto question = std::make_shared<Question>(Question{path});
  zoo_check_op_init(&question->operation, question->path.c_str(), -1);
  return ask_of_node(
      [&](void* call) {
        return zoo_amulti(connection_->handle(), 1, &question->operation, &question->outcome, done,
                          call);
      },
      limit, question);
}

}  // namespace store::zookeeper
