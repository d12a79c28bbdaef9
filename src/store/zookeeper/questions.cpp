// Asks the questions of a round behind each other, and collects the answers of the client library.
#include <zookeeper/zookeeper.h>

#include <algorithm>

#include "store/zookeeper/client.hpp"
#include "store/zookeeper/numbers.hpp"

namespace store::zookeeper {
namespace {

using sessions::any_version;
using sessions::Committed;
using sessions::Error;
using sessions::Node;
using sessions::Rejected;
using sessions::Round;
using sessions::Transaction;
using sessions::Watch;
using Made = sessions::Made;

// A lock's node goes by itself when nothing is below it: it may be gone again when we come.
constexpr int most_tries = 4;

sessions::Stat stat_of(const ::Stat& stat) {
  sessions::Stat all;
  all.created_by = static_cast<std::uint64_t>(stat.czxid);
  all.created_ms = stat.ctime;
  all.written_ms = stat.mtime;
  all.version = stat.version;
  return all;
}

template <class Answer>
Asked<Answer> claimed(const void* data) {
  const std::unique_ptr<const Asked<Answer>> reference{static_cast<const Asked<Answer>*>(data)};
  return *reference;
}

// The functions that the library answers with.

void on_done(int code, const void* data) {
  claimed<bool>(data)->code = code;
}

void on_stat(int code, const ::Stat* /*stat*/, const void* data) {
  claimed<bool>(data)->code = code;
}

void on_committed(int code, const void* data) {
  claimed<Committed>(data)->code = code;
}

void on_made(int code, const char* path, const ::Stat* stat, const void* data) {
  const auto call = claimed<Made>(data);
  call->code = code;
  if (path != nullptr) call->answer.path = path;
  if (stat == nullptr) return;
  call->answer.stat = stat_of(*stat);
  call->answer.stat->is_ours = true;
}

void on_node(int code, const char* text, int size, const ::Stat* stat, const void* data) {
  const auto call = claimed<OwnedNode>(data);
  call->code = code;
  if (text != nullptr && size > 0) {
    call->answer.node.text.assign(text, static_cast<std::size_t>(size));
  }
  if (stat == nullptr) return;
  call->answer.node.stat = stat_of(*stat);
  call->answer.owner = stat->ephemeralOwner;
}

void on_names(int code, const String_vector* names, const ::Stat* stat, const void* data) {
  const auto call = claimed<Below>(data);
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

void on_acl(int code, ACL_vector* acl, ::Stat* /*stat*/, const void* data) {
  const auto call = claimed<bool>(data);
  call->code = code;
  const int to_change = ZOO_PERM_WRITE | ZOO_PERM_CREATE | ZOO_PERM_DELETE;
  for (int i = 0; acl != nullptr && i < acl->count; ++i) {
    const ::ACL& each = acl->data[i];
    const bool is_anyone = each.id.scheme != nullptr && std::string_view{each.id.scheme} == "world";
    if (is_anyone && (each.perms & to_change) != 0) call->answer = true;
  }
}

template <class Answer>
bool is_missing(const base::Result<Answer, Error>& answer) {
  return !answer && answer.error().kind == Error::Kind::no_such_node;
}

int watching(Watch watch) {
  return watch == Watch::yes ? 1 : 0;
}

int version_of(std::int64_t version) {
  return static_cast<int>(std::clamp<std::int64_t>(version, any_version, INT32_MAX));
}

bool creates(Transaction::Kind kind) {
  return kind == Transaction::Kind::queue || kind == Transaction::Kind::ephemeral ||
         kind == Transaction::Kind::lasting;
}

int flags_of(Transaction::Kind kind) {
  switch (kind) {
    case Transaction::Kind::queue: return ZOO_EPHEMERAL_SEQUENTIAL;
    case Transaction::Kind::ephemeral: return ZOO_EPHEMERAL;
    default: return ZOO_PERSISTENT;
  }
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

const ACL_vector* Client::acl() const {
  return secured_ ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
}

// ---- questions ----

Result<base::Done> Client::ready(const CallLimit& limit) {
  if (auto connected = await_connection(limit); !connected) return std::move(connected).error();
  if (expired()) {  // of which the library loses what it was given
    return error_of(ZSESSIONEXPIRED).fault;
  }
  receive_limit_.renew(socket_);
  return base::Done{};
}

template <class Answer>
Asked<Answer> Client::send(const std::function<int(void*)>& start,
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
base::Result<Answer, Error> Client::await(const Asked<Answer>& call, const CallLimit& limit) {
  if (!call->code && !process(limit, [&] { return call->code.has_value(); })) {
    return Error{Error::Kind::other, {Fault::Kind::silent, "no answer in time"}};
  }
  if (*call->code != ZOK) return error_of(*call->code);
  return std::move(call->answer);
}

Asked<OwnedNode> Client::send_get(const std::string& path) {
  return send<OwnedNode>(
      [&](void* call) { return zoo_aget(handle_, path.c_str(), 0, on_node, call); });
}
Asked<bool> Client::send_exists(const std::string& path, Watch watch) {
  return send<bool>([&](void* call) {
    return zoo_aexists(handle_, path.c_str(), watching(watch), on_stat, call);
  });
}
Asked<Made> Client::send_create(const std::string& path, const std::string& text, int flags) {
  return send<Made>([&](void* call) {
    return zoo_acreate2(handle_, path.c_str(), text.data(), static_cast<int>(text.size()), acl(),
                        flags, on_made, call);
  });
}
Asked<Below> Client::send_children(const std::string& path) {
  return send<Below>(
      [&](void* call) { return zoo_aget_children2(handle_, path.c_str(), 0, on_names, call); });
}
Asked<bool> Client::send_erase(const std::string& path, std::int64_t version) {
  return send<bool>([&](void* call) {
    return zoo_adelete(handle_, path.c_str(), version_of(version), on_done, call);
  });
}

Asked<Committed> Client::send(const Transaction& transaction) {
  const auto question = std::make_shared<Question>();
  const auto count = transaction.steps.size();
  question->operations.resize(count);
  question->outcomes.resize(count);
  question->paths.reserve(count);  // these strings must not move
  question->texts.reserve(count);
  question->made.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& each = transaction.steps[i];
    const char* const path = question->paths.emplace_back(each.path).c_str();
    const std::string& text = question->texts.emplace_back(each.text);
    std::string& made = question->made.emplace_back();
    const auto size = static_cast<int>(text.size());
    const int version = version_of(each.before.version);
    zoo_op_t* const operation = &question->operations[i];
    switch (each.kind) {
      case Transaction::Kind::queue:
      case Transaction::Kind::ephemeral:
      case Transaction::Kind::lasting:
        made.resize(each.path.size() + room_for_number);
        zoo_create_op_init(operation, path, text.data(), size, acl(), flags_of(each.kind),
                           made.data(), static_cast<int>(made.size()));
        break;
      case Transaction::Kind::set:
        zoo_set_op_init(operation, path, text.data(), size, version, nullptr);
        break;
      case Transaction::Kind::erase: zoo_delete_op_init(operation, path, version); break;
      case Transaction::Kind::check: zoo_check_op_init(operation, path, version); break;
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

base::Result<Committed, Rejected> Client::outcome_of(const Asked<Committed>& call,
                                                     const CallLimit& limit) {
  auto answer = await(call, limit);
  const auto& question = *static_cast<const Question*>(call->question.get());
  if (answer) {
    Committed committed;
    // Each is a string with an end in a buffer that is longer.
    for (const auto& made : question.made) {
      committed.made.push_back({made.substr(0, made.find('\0')), std::nullopt});
    }
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

base::Result<Committed, Rejected> Client::outcome_of(const Asked<Made>& call,
                                                     const CallLimit& limit) {
  auto made = await(call, limit);
  if (made) return Committed{{*std::move(made)}};
  const bool heard = made.error().fault.kind != Fault::Kind::silent;
  return Rejected{std::move(made).error(), heard ? std::optional<std::size_t>{0} : std::nullopt};
}

Result<std::optional<Node>> Client::node_of(const Asked<OwnedNode>& call, const CallLimit& limit) {
  auto answer = await(call, limit);
  if (is_missing(answer)) return std::optional<Node>{};
  if (!answer) return std::move(answer).error().fault;
  answer->node.stat.is_ours = answer->owner == zoo_client_id(handle_)->client_id;
  return std::optional{std::move(answer->node)};
}

Result<sessions::Children> Client::children_of(const std::string& path, const Asked<Below>& call,
                                               bool is_queue, const CallLimit& limit) {
  auto answer = await(call, limit);
  if (is_missing(answer)) {
    missing_.insert(path);
    return sessions::Children{};
  }
  if (!answer) return std::move(answer).error().fault;
  const auto change = static_cast<std::uint64_t>(answer->stat.pzxid);
  if (!is_queue) return sessions::Children{std::move(answer->names), change};
  sessions::Children children{{}, change};
  const auto nodes = in_order(answer->names);
  if (has_a_tie(nodes)) {
    return Fault{Fault::Kind::unusable,
                 "two nodes of the queue have the same number: delete the lock's node"};
  }
  for (const auto& each : nodes) children.names.push_back(each.name);
  return children;
}

// ---- a round ----

sessions::Answers Client::ask(const Round& round, const CallLimit& limit) {
  auto answers = ask_once(round, limit);
  for (int tries = 1; tries < most_tries && !answers.change; ++tries) {
    const Rejected& rejected = answers.change.error();
    if (rejected.error.kind != Error::Kind::no_such_node || !rejected.at) break;
    const auto& step = round.change.steps[*rejected.at];
    if (!creates(step.kind)) break;
    const auto way = make_way_to(step.path, limit);
    // A lost answer is no refusal: the next try makes the rest of the way.
    if (!way) answers.change = Rejected{{Error::Kind::other, way.error()}, std::nullopt};
    if (!way || !*way) break;
    answers = ask_once(round, limit);
  }
  return answers;
}

sessions::Answers Client::ask_once(const Round& round, const CallLimit& limit) {
  sessions::Answers answers;
  const auto& steps = round.change.steps;
  if (auto there = ready(limit); !there) {
    const Fault fault = std::move(there).error();
    if (!steps.empty()) answers.change = Rejected{{Error::Kind::other, fault}, std::nullopt};
    answers.nodes.assign(round.gets.size(), fault);
    answers.queues.assign(round.queues.size(), fault);
    answers.children.assign(round.children.size(), fault);
    return answers;
  }
  for (const auto& each : steps) {
    if (creates(each.kind)) send_way_to(each.path);
  }
  // The answer to a single creation has the node's numbers, that to a transaction has not.
  const bool alone = steps.size() == 1 && creates(steps.front().kind);
  Asked<Made> made;
  Asked<Committed> changed;
  if (alone) {
    made = send_create(steps.front().path, steps.front().text, flags_of(steps.front().kind));
  } else if (!steps.empty()) {
    changed = send(round.change);
  }
  if (steps.empty()) erase_leftovers(round.change);
  std::vector<Asked<OwnedNode>> nodes;
  std::vector<Asked<Below>> queues;
  std::vector<Asked<Below>> children;
  for (const auto& each : round.gets) {
    // Only this question watches a node that is not there.
    if (each.watch == Watch::yes) (void)send_exists(each.path, Watch::yes);
    nodes.push_back(send_get(each.path));
  }
  for (const auto& each : round.queues) queues.push_back(send_children(each));
  for (const auto& each : round.children) children.push_back(send_children(each));

  if (alone) answers.change = outcome_of(made, limit);
  if (changed) answers.change = outcome_of(changed, limit);
  for (const auto& each : nodes) answers.nodes.push_back(node_of(each, limit));
  for (std::size_t i = 0; i < queues.size(); ++i) {
    answers.queues.push_back(children_of(round.queues[i], queues[i], true, limit));
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    answers.children.push_back(children_of(round.children[i], children[i], false, limit));
  }
  if (!steps.empty() && answers.change) erase_leftovers(round.change);
  return answers;
}

/// Nobody waits for the answers.
void Client::erase_leftovers(const Transaction& change) {
  for (const auto& [path, version] : change.leftovers) (void)send_erase(path, version);
}

Result<bool> Client::anyone_may_write(const CallLimit& limit) {
  if (auto there = ready(limit); !there) return std::move(there).error();
  const auto open = await(
      send<bool>([&](void* call) { return zoo_aget_acl(handle_, base_.c_str(), on_acl, call); }),
      limit);
  if (open) return *open;
  if (is_missing(open)) return !secured_;
  return open.error().fault;
}

Result<bool> Client::keep(const std::string& path, const CallLimit& limit) {
  Round round;
  round.change.check(path);
  return sessions::unless_gone(ask(round, limit).change);
}

}  // namespace store::zookeeper
