// What a session can be asked, one question after the other or several at once, and the answers of
// the client library.
#include <zookeeper/zookeeper.h>

#include "store/zookeeper/client.hpp"

namespace store::zookeeper {
namespace {

template <class Answer>
Asked<Answer> claimed(const void* data) {
  const std::unique_ptr<const Asked<Answer>> reference{static_cast<const Asked<Answer>*>(data)};
  return *reference;
}

// The functions that the library answers with.

void on_done(int code, const void* data) {
  claimed<bool>(data)->code = code;
}

void on_stat(int code, const Stat* /*stat*/, const void* data) {
  claimed<bool>(data)->code = code;
}

void on_committed(int code, const void* data) {
  claimed<Committed>(data)->code = code;
}

void on_made(int code, const char* path, const Stat* stat, const void* data) {
  const auto call = claimed<Made>(data);
  call->code = code;
  if (path != nullptr) call->answer.path = path;
  if (stat != nullptr) call->answer.stat = *stat;
}

void on_node(int code, const char* text, int size, const Stat* stat, const void* data) {
  const auto call = claimed<Node>(data);
  call->code = code;
  if (text != nullptr && size > 0) call->answer.data.assign(text, static_cast<std::size_t>(size));
  if (stat != nullptr) call->answer.stat = *stat;
}

void on_names(int code, const String_vector* names, const Stat* stat, const void* data) {
  const auto call = claimed<Children>(data);
  call->code = code;
  if (stat != nullptr) call->answer.stat = *stat;
  for (int i = 0; names != nullptr && i < names->count; ++i) {
    if (names->data[i] == nullptr) {  // the answer announced more than it held
      call->code = ZMARSHALLINGERROR;
      return;
    }
    call->answer.names.emplace_back(names->data[i]);
  }
}

template <class Answer>
bool is_missing(const base::Result<Answer, Error>& answer) {
  return !answer && answer.error().kind == Error::Kind::no_such_node;
}

int watching(Session::Watch watch) {
  return watch == Session::Watch::yes ? 1 : 0;
}

/// A transaction while it is under way: the library keeps pointers to all of this until it answers.
struct Question {
  std::vector<std::string> paths;
  std::vector<std::string> texts;
  std::vector<std::string> made;  // buffers for the paths of new nodes
  std::vector<zoo_op_t> operations;
  std::vector<zoo_op_result_t> outcomes;
};

// Behind the path of a node that gets a number, with a sign, and for the end of the string.
constexpr std::size_t room_for_number = 12;

}  // namespace

Error error_of(int code) {
  const auto other = [code](Fault::Kind kind) {
    return Error{Error::Kind::other, {kind, zerror(code)}};
  };
  switch (code) {
    case ZNONODE: return {Error::Kind::no_such_node, {Fault::Kind::unusable, zerror(code)}};
    case ZNODEEXISTS: return {Error::Kind::node_exists, {Fault::Kind::unusable, zerror(code)}};
    case ZBADVERSION: return {Error::Kind::node_changed, {Fault::Kind::unusable, zerror(code)}};
    case ZNOAUTH:
    case ZAUTHFAILED: return other(Fault::Kind::denied);
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZINVALIDSTATE:
    case ZRUNTIMEINCONSISTENCY:  // an answer to another question: the connection is over
    case ZCLOSING:
    case ZSESSIONMOVED:
    case ZSESSIONEXPIRED: return other(Fault::Kind::silent);
    default: return other(Fault::Kind::unusable);
  }
}

const ACL_vector* Session::acl() const {
  return secured_ ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
}

std::size_t Transaction::add(Operation operation) {
  operations_.push_back(std::move(operation));
  return operations_.size() - 1;
}
std::size_t Transaction::create(std::string path, std::string data, int flags) {
  return add({Kind::create, std::move(path), std::move(data), flags});
}
std::size_t Transaction::set(std::string path, std::string data, int version) {
  return add({Kind::set, std::move(path), std::move(data), version});
}
std::size_t Transaction::erase(std::string path, int version) {
  return add({Kind::erase, std::move(path), "", version});
}
std::size_t Transaction::check(std::string path) {
  return add({Kind::check, std::move(path), "", any_version});
}

Result<base::Done> Session::ready(const CallLimit& limit) {
  if (auto connected = await_connection(limit); !connected) return std::move(connected).error();
  if (expired()) {  // of which the library loses what it was given
    return error_of(ZSESSIONEXPIRED).fault;
  }
  receive_limit_.renew(socket_);
  return base::Done{};
}

template <class Answer>
Asked<Answer> Session::send(const std::function<int(void*)>& start,
                            const std::shared_ptr<const void>& question) {
  auto call = std::make_shared<Call<Answer>>();
  call->question = question;
  auto reference = std::make_unique<Asked<Answer>>(call);
  if (const int code = start(reference.get()); code == ZOK) {
    (void)reference.release();  // the library's, until it answers
  } else {
    call->code = code;
  }
  return call;
}

template <class Answer>
base::Result<Answer, Error> Session::await(const Asked<Answer>& call, const CallLimit& limit) {
  if (!call->code && !process(limit, [&] { return call->code.has_value(); })) {
    return Error{Error::Kind::other, {Fault::Kind::silent, "no answer in time"}};
  }
  if (*call->code != ZOK) return error_of(*call->code);
  return std::move(call->answer);
}

Asked<Node> Session::send_get(const std::string& path, Watch watch) {
  return send<Node>(
      [&](void* call) { return zoo_aget(handle_, path.c_str(), watching(watch), on_node, call); });
}
Asked<bool> Session::send_exists(const std::string& path, Watch watch) {
  return send<bool>([&](void* call) {
    return zoo_aexists(handle_, path.c_str(), watching(watch), on_stat, call);
  });
}
Asked<Made> Session::send_create(const std::string& path, const std::string& data, int flags) {
  return send<Made>([&](void* call) {
    return zoo_acreate2(handle_, path.c_str(), data.data(), static_cast<int>(data.size()), acl(),
                        flags, on_made, call);
  });
}
Asked<Children> Session::send_children(const std::string& path) {
  return send<Children>(
      [&](void* call) { return zoo_aget_children2(handle_, path.c_str(), 0, on_names, call); });
}
Asked<bool> Session::send_erase(const std::string& path, int version) {
  return send<bool>(
      [&](void* call) { return zoo_adelete(handle_, path.c_str(), version, on_done, call); });
}

Asked<Committed> Session::send(const Transaction& transaction) {
  const auto question = std::make_shared<Question>();
  const auto count = transaction.operations_.size();
  question->operations.resize(count);
  question->outcomes.resize(count);
  question->paths.reserve(count);  // so that none of these strings moves any more
  question->texts.reserve(count);
  question->made.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& each = transaction.operations_[i];
    const char* const path = question->paths.emplace_back(each.path).c_str();
    const std::string& text = question->texts.emplace_back(each.data);
    std::string& made = question->made.emplace_back();
    const auto size = static_cast<int>(text.size());
    zoo_op_t* const operation = &question->operations[i];
    switch (each.kind) {
      case Transaction::Kind::create:
        made.resize(each.path.size() + room_for_number);
        zoo_create_op_init(operation, path, text.data(), size, acl(), each.flags_or_version,
                           made.data(), static_cast<int>(made.size()));
        break;
      case Transaction::Kind::set:
        zoo_set_op_init(operation, path, text.data(), size, each.flags_or_version, nullptr);
        break;
      case Transaction::Kind::erase:
        zoo_delete_op_init(operation, path, each.flags_or_version);
        break;
      case Transaction::Kind::check:
        zoo_check_op_init(operation, path, each.flags_or_version);
        break;
    }
  }
  return send<Committed>(
      [&](void* call) {
        return zoo_amulti(handle_, static_cast<int>(count), question->operations.data(),
                          question->outcomes.data(), on_committed, call);
      },
      question);
}

// ---- their answers ----

Result<std::optional<Node>> Session::answer(const Asked<Node>& call, const CallLimit& limit) {
  auto answer = await(call, limit);
  if (is_missing(answer)) return std::optional<Node>{};
  if (!answer) return std::move(answer).error().fault;
  return std::optional{*std::move(answer)};
}

Result<bool> Session::answer(const Asked<bool>& call, const CallLimit& limit) {
  auto answer = await(call, limit);
  if (is_missing(answer)) return false;
  if (!answer) return std::move(answer).error().fault;
  return true;
}

base::Result<Made, Error> Session::answer(const Asked<Made>& call, const CallLimit& limit) {
  return await(call, limit);
}

Result<Children> Session::answer(const Asked<Children>& call, const CallLimit& limit) {
  auto answer = await(call, limit);
  if (is_missing(answer)) return Children{};
  if (!answer) return std::move(answer).error().fault;
  return *std::move(answer);
}

base::Result<Committed, Rejected> Session::answer(const Asked<Committed>& call,
                                                  const CallLimit& limit) {
  auto answer = await(call, limit);
  const auto& question = *static_cast<const Question*>(call->question.get());
  if (answer) {
    Committed committed;
    // Each is a string with an end in a buffer that is longer.
    for (const auto& made : question.made) committed.paths.emplace_back(made.c_str());
    return committed;
  }
  Rejected rejected{std::move(answer).error(), std::nullopt};
  if (rejected.error.fault.kind == Fault::Kind::silent) return rejected;
  for (std::size_t i = 0; i < question.outcomes.size(); ++i) {
    if (question.outcomes[i].err == *call->code) {
      rejected.at = i;
      break;
    }
  }
  return rejected;
}

// ---- one at a time ----

Result<std::optional<Node>> Session::get(const std::string& path, Watch watch,
                                         const CallLimit& limit) {
  if (auto there = ready(limit); !there) return std::move(there).error();
  return answer(send_get(path, watch), limit);
}

base::Result<Made, Error> Session::create(const std::string& path, const std::string& data,
                                          int flags, const CallLimit& limit) {
  if (auto there = ready(limit); !there) {
    return Error{Error::Kind::other, std::move(there).error()};
  }
  return answer(send_create(path, data, flags), limit);
}

Result<Children> Session::children(const std::string& path, const CallLimit& limit) {
  if (auto there = ready(limit); !there) return std::move(there).error();
  return answer(send_children(path), limit);
}

Result<bool> Session::set(const std::string& path, const std::string& data,
                          const CallLimit& limit) {
  if (auto there = ready(limit); !there) return std::move(there).error();
  return answer(send<bool>([&](void* call) {
                  return zoo_aset(handle_, path.c_str(), data.data(), static_cast<int>(data.size()),
                                  any_version, on_stat, call);
                }),
                limit);
}

Result<bool> Session::exists(const std::string& path, Watch watch, const CallLimit& limit) {
  if (auto there = ready(limit); !there) return std::move(there).error();
  return answer(send_exists(path, watch), limit);
}

Result<bool> Session::erase(const std::string& path, const CallLimit& limit) {
  if (auto there = ready(limit); !there) return std::move(there).error();
  return answer(send_erase(path), limit);
}

base::Result<Committed, Rejected> Session::commit(const Transaction& transaction,
                                                  const CallLimit& limit) {
  if (auto there = ready(limit); !there) {
    return Rejected{{Error::Kind::other, std::move(there).error()}, std::nullopt};
  }
  return answer(send(transaction), limit);
}

Result<bool> Session::confirm(const std::string& path, const CallLimit& limit) {
  Transaction transaction;
  transaction.check(path);
  auto committed = commit(transaction, limit);
  if (committed) return true;
  Error error = std::move(committed).error().error;
  if (error.kind == Error::Kind::no_such_node) return false;
  return std::move(error.fault);
}

}  // namespace store::zookeeper
