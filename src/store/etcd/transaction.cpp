// Source: https://etcd.io/docs/v3.4/learning/api/#transaction
#include "store/etcd/transaction.hpp"

#include <algorithm>

namespace store::etcd {
namespace {

using sessions::any_version;
using sessions::Children;
using sessions::Committed;
using sessions::Error;
using sessions::Made;
using sessions::Node;
using sessions::Rejected;
using sessions::Round;
using sessions::Transaction;
using Step = Transaction::Step;
using Kind = Transaction::Kind;

bool creates(const Step& step) {
  return step.kind == Kind::queue || step.kind == Kind::ephemeral || step.kind == Kind::lasting;
}

/// A node in a queue has the lease in its name, which no other session has.
std::string key_of(const Step& step, const Asker& asker) {
  return step.kind == Kind::queue ? step.path + std::to_string(asker.lease) : step.path;
}

// ---- the question ----

Json compare(const std::string& key, const char* target, const char* result, const char* field,
             std::int64_t value) {
  return {{"key", base64_of(key)},
          {"target", target},
          {"result", result},
          {field, std::to_string(value)}};
}

Json compare_of(const Step& step, const Asker& asker) {
  const auto key = key_of(step, asker);
  if (creates(step)) return compare(key, "CREATE", "EQUAL", "create_revision", 0);
  if (step.before.version == any_version) {
    return compare(key, "CREATE", "GREATER", "create_revision", 0);
  }
  return compare(key, "MOD", "EQUAL", "mod_revision", step.before.version);
}

Json erasure_of(const std::string& key) {
  return {{"request_delete_range", {{"key", base64_of(key)}}}};
}

/// The operation of a step; null if it only compares.
Json act_of(const Step& step, const Asker& asker) {
  const auto key = key_of(step, asker);
  switch (step.kind) {
    case Kind::queue:
    case Kind::ephemeral:
      return {{"request_put",
               {{"key", base64_of(key)},
                {"value", base64_of(value_of(step.text, asker.now_ms, asker.now_ms))},
                {"lease", std::to_string(asker.lease)}}}};
    case Kind::lasting:
      return {{"request_put",
               {{"key", base64_of(key)},
                {"value", base64_of(value_of(step.text, asker.now_ms, asker.now_ms))}}}};
    case Kind::set: {
      Json put{{"key", base64_of(key)},
               {"value", base64_of(value_of(step.text, step.before.created_ms, asker.now_ms))}};
      if (step.lasts) {
        put["lease"] = std::to_string(asker.other_lease);
      } else {
        put["ignore_lease"] = true;
      }
      return {{"request_put", std::move(put)}};
    }
    case Kind::erase: return erasure_of(key);
    case Kind::check: break;
  }
  return {};
}

Json get(const std::string& key) {
  return {{"request_range", {{"key", base64_of(key)}}}};
}

/// The keys below a path: '0' is behind '/'.
Json get_below(const std::string& path, bool in_order) {
  Json range{{"key", base64_of(path + '/')},
             {"range_end", base64_of(path + '0')},
             {"keys_only", true},
             {"limit", std::to_string(most_children)}};
  if (in_order) {
    range["sort_order"] = "ASCEND";
    range["sort_target"] = "CREATE";
  }
  return {{"request_range", std::move(range)}};
}

void add_reads(Json& acts, const Round& round) {
  for (const auto& each : round.gets) acts.push_back(get(each.path));
  for (const auto& each : round.queues) acts.push_back(get_below(each, true));
  for (const auto& each : round.children) acts.push_back(get_below(each, false));
}

Json leftover_of(const std::string& path, std::int64_t version) {
  if (version == any_version) return erasure_of(path);
  return {{"request_txn",
           {{"compare", Json::array({compare(path, "MOD", "EQUAL", "mod_revision", version)})},
            {"success", Json::array({erasure_of(path)})}}}};
}

/// The leftovers that do not touch a key of a step: etcd refuses two changes of one key.
std::vector<Json> leftovers_of(const Transaction& change, const Asker& asker) {
  std::vector<Json> erasures;
  for (const auto& leftover : change.leftovers) {
    const auto& path = leftover.first;
    const bool is_of_a_step =
        std::any_of(change.steps.begin(), change.steps.end(),
                    [&](const Step& each) { return key_of(each, asker) == path; });
    if (!is_of_a_step) erasures.push_back(leftover_of(path, leftover.second));
  }
  return erasures;
}

// ---- the answer ----

/// The keys of a range; nothing if it is none.
std::optional<std::vector<KeyValue>> range_in(const Json& response) {
  const Json& range = member_of(response, "response_range");
  if (!range.is_object()) return std::nullopt;
  std::vector<KeyValue> pairs;
  const Json& kvs = member_of(range, "kvs");
  if (kvs.is_null()) return pairs;
  if (!kvs.is_array()) return std::nullopt;
  pairs.reserve(kvs.size());
  for (const Json& each : kvs) {
    auto pair = key_value_in(each);
    if (!pair) return std::nullopt;
    pairs.push_back(*std::move(pair));
  }
  return pairs;
}

Result<std::optional<Node>> node_in(const Json& response, const std::string& path,
                                    const Asker& asker) {
  const auto pairs = range_in(response);
  if (!pairs || pairs->size() > 1) return senseless();
  if (pairs->empty()) return std::optional<Node>{};
  if (pairs->front().key != path) return senseless();
  return std::optional{node_of(pairs->front(), asker.lease, asker.now_ms)};
}

Result<Children> children_in(const Json& response, const std::string& path,
                             std::uint64_t revision) {
  const auto pairs = range_in(response);
  if (!pairs) return senseless();
  const Json& more = member_of(member_of(response, "response_range"), "more");
  if (more.is_boolean() && more.get<bool>()) {
    return Fault{Fault::Kind::unusable, "too many keys below " + path};
  }
  Children children{{}, revision};
  children.names.reserve(pairs->size());
  for (const KeyValue& each : *pairs) {
    if (!each.key.starts_with(path + '/')) return senseless();
    if (each.key.size() > path.size() + 1)
      children.names.push_back(each.key.substr(path.size() + 1));
  }
  return children;
}

/// Why the change was not carried out, by the keys of its steps as they were then.
Rejected rejection_in(const Json& responses, const Transaction& change, const Asker& asker) {
  const auto at = [](Error::Kind kind, const char* why, std::size_t step) {
    return Rejected{{kind, {Fault::Kind::unusable, why}}, step};
  };
  for (std::size_t i = 0; i < change.steps.size(); ++i) {
    const Step& step = change.steps[i];
    const auto seen = node_in(responses[i], key_of(step, asker), asker);
    if (!seen) return {{Error::Kind::other, seen.error()}};
    if (creates(step)) {
      if (*seen) return at(Error::Kind::node_exists, "the key exists", i);
      continue;
    }
    if (!*seen) return at(Error::Kind::no_such_node, "no such key", i);
    const bool any = step.before.version == any_version;
    if (!any && (*seen)->stat.version != step.before.version) {
      return at(Error::Kind::node_changed, "the key has changed", i);
    }
  }
  return {{Error::Kind::other, senseless()}};
}

/// The change as it was made by an earlier question; nothing: it was not.
std::optional<Committed> made_before(const Json& responses, const Transaction& change,
                                     const Asker& asker) {
  Committed committed;
  for (std::size_t i = 0; i < change.steps.size(); ++i) {
    const Step& step = change.steps[i];
    Made made;
    const auto seen = node_in(responses[i], key_of(step, asker), asker);
    if (!seen || (step.kind == Kind::erase && *seen)) return std::nullopt;
    if (step.kind == Kind::queue) {
      // The key is ours by its name; somebody may have asked it to stop since.
      if (!*seen) return std::nullopt;
    } else if (creates(step) || step.kind == Kind::set) {
      // The time makes it our text.
      const bool is_written =
          *seen && (*seen)->text == step.text && (*seen)->stat.written_ms == asker.now_ms;
      if (!is_written) return std::nullopt;
    }
    if (creates(step)) made = {key_of(step, asker), (*seen)->stat};
    committed.made.push_back(std::move(made));
  }
  return committed;
}

Committed committed_by(const Transaction& change, std::uint64_t revision, const Asker& asker) {
  Committed committed;
  for (const Step& step : change.steps) {
    Made made;
    if (creates(step)) {
      made.path = key_of(step, asker);
      made.stat = {revision, asker.now_ms, asker.now_ms, static_cast<std::int64_t>(revision),
                   step.kind != Kind::lasting};
    }
    committed.made.push_back(std::move(made));
  }
  return committed;
}

}  // namespace

Parts parts_of(const Round& round) {
  Parts parts;
  auto* part = &parts.rounds.emplace_back();
  part->change.steps = round.change.steps;
  std::size_t reads = 0;
  const auto next = [&] {
    if (reads++ % Parts::most_reads == 0 && reads > 1) part = &parts.rounds.emplace_back();
    return part;
  };
  for (const auto& each : round.gets) next()->gets.push_back(each);
  for (const auto& each : round.queues) next()->queues.push_back(each);
  for (const auto& each : round.children) next()->children.push_back(each);
  const auto& leftovers = round.change.leftovers;
  for (std::size_t i = 0; i < leftovers.size(); ++i) {
    const auto number = i / Parts::most_leftovers;
    if (number >= parts.rounds.size()) parts.rounds.emplace_back();
    parts.rounds[number].change.leftovers.push_back(leftovers[i]);
  }
  return parts;
}

std::string question_of(const Round& round, const Asker& asker) {
  Json question{{"compare", Json::array()}, {"success", Json::array()}, {"failure", Json::array()}};
  for (const Step& step : round.change.steps) {
    question["compare"].push_back(compare_of(step, asker));
    if (auto act = act_of(step, asker); !act.is_null()) {
      question["success"].push_back(std::move(act));
    }
    question["failure"].push_back(get(key_of(step, asker)));
  }
  for (auto& each : leftovers_of(round.change, asker)) {
    question["success"].push_back(std::move(each));
  }
  add_reads(question["success"], round);
  add_reads(question["failure"], round);
  return question.dump();
}

std::optional<TransactionAnswer> answer_in(const Json& json, const Round& round, const Asker& asker,
                                           Asked asked) {
  const Json& header = member_of(json, "header");
  const auto revision = number_of(header, "revision");
  const auto term = number_of(header, "raft_term");
  const Json& succeeded = member_of(json, "succeeded");
  if (!revision || *revision <= 0 || !term) return std::nullopt;
  const bool done = succeeded.is_boolean() && succeeded.get<bool>();
  const auto& steps = round.change.steps;
  // An empty list is left out.
  static const Json none = Json::array();
  const Json& told = member_of(json, "responses");
  const Json& responses = told.is_null() ? none : told;
  std::size_t before = steps.size();
  if (done) {
    before = static_cast<std::size_t>(std::count_if(
        steps.begin(), steps.end(), [](const Step& each) { return each.kind != Kind::check; }));
    before += leftovers_of(round.change, asker).size();
  }
  const auto reads = round.gets.size() + round.queues.size() + round.children.size();
  if (!responses.is_array() || responses.size() != before + reads) return std::nullopt;

  TransactionAnswer answer;
  answer.revision = static_cast<std::uint64_t>(*revision);
  answer.term = *term;
  auto& answers = answer.answers;
  if (done) {
    answers.change = committed_by(round.change, answer.revision, asker);
  } else if (steps.empty()) {
    return std::nullopt;
  } else {
    answers.change = rejection_in(responses, round.change, asker);
    if (asked == Asked::again) {
      if (auto made = made_before(responses, round.change, asker)) {
        answers.change = *std::move(made);
      }
    }
  }
  std::size_t at = before;
  for (const auto& each : round.gets) {
    answers.nodes.push_back(node_in(responses[at++], each.path, asker));
  }
  for (const auto& each : round.queues) {
    answers.queues.push_back(children_in(responses[at++], each, answer.revision));
  }
  for (const auto& each : round.children) {
    answers.children.push_back(children_in(responses[at++], each, answer.revision));
  }
  return answer;
}

sessions::Answers without_answer(const Round& round, const Fault& fault,
                                 std::optional<std::size_t> at) {
  sessions::Answers answers;
  if (!round.change.steps.empty()) answers.change = Rejected{{Error::Kind::other, fault}, at};
  answers.nodes.assign(round.gets.size(), fault);
  answers.queues.assign(round.queues.size(), fault);
  answers.children.assign(round.children.size(), fault);
  return answers;
}

bool needs_lease(const Transaction& change) {
  return std::any_of(change.steps.begin(), change.steps.end(), [](const Step& each) {
    return each.kind == Kind::queue || each.kind == Kind::ephemeral;
  });
}

std::optional<Millis> longest_in(const Transaction& change) {
  std::optional<Millis> longest;
  for (const Step& each : change.steps) {
    if (each.lasts) longest = std::max(longest.value_or(Millis{0}), *each.lasts);
  }
  return longest;
}

std::optional<std::size_t> first_lasting(const Transaction& change) {
  const auto found = std::find_if(change.steps.begin(), change.steps.end(), [](const Step& each) {
    return each.kind == Kind::lasting || each.kind == Kind::set;
  });
  if (found == change.steps.end()) return std::nullopt;
  return static_cast<std::size_t>(found - change.steps.begin());
}

}  // namespace store::etcd
