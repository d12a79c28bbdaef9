#include "store/etcd/client.hpp"

#include <algorithm>
#include <chrono>

#include "os/host.hpp"
#include "store/etcd/backoff.hpp"

namespace store::etcd {
namespace {

using sessions::Answers;
using sessions::Round;

constexpr const char* transaction_path = "/v3/kv/txn";
// A goodbye to a cluster that does not answer must not hold up the end of a run.
constexpr Millis for_a_goodbye{1'000};
// A process that waits renews in between; it must hear of its turn nevertheless.
constexpr Millis for_a_renewal{2'000};
// With less time, a healthy member could seem to be silent. The next call has more.
constexpr Millis least_for_a_renewal{500};

/// Not 0, which would have the server choose: a question whose answer is lost is repeated.
std::int64_t random_number() {
  return os::random_between(1, INT64_MAX);
}

std::string with_id(std::int64_t lease) {
  return Json{{"ID", std::to_string(lease)}}.dump();
}

Fault session_over() {
  return {Fault::Kind::silent, "the session has expired"};
}

}  // namespace

Result<std::shared_ptr<Client>> Client::open(const Etcd& cluster, Ttl ttl, const CallLimit& limit) {
  std::shared_ptr<Client> session{new Client{cluster, ttl}};
  if (auto there = session->gateway_.connect(limit); !there) return std::move(there).error();
  return session;
}

Client::~Client() {
  // A client that has just waited for a silent cluster in vain does not wait again.
  if (lease_ == 0 || expired_ || is_given_away_ || !gateway_.is_heard()) return;
  try {
    const CallLimit soon{Deadline::after(base::now(), for_a_goodbye)};
    (void)gateway_.ask("/v3/lease/revoke", with_id(lease_), Repeat::yes, soon);
  } catch (...) {  // the lease then expires by itself
    expired_ = true;
  }
}

Asker Client::asker() const {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return {lease_, std::chrono::duration_cast<Millis>(since_1970).count(), other_lease_};
}

std::int64_t Client::now_ms(const CallLimit& /*limit*/) {
  return asker().now_ms;
}

// ---- the lease ----

Result<Client::Lease> Client::grant(std::int64_t seconds, const CallLimit& limit) {
  const std::int64_t number = random_number();
  const Json body{{"ID", std::to_string(number)}, {"TTL", std::to_string(seconds)}};
  const Moment asked_at = base::now();
  auto reply = gateway_.ask("/v3/lease/grant", body.dump(), Repeat::yes, limit);
  if (!reply) {
    // A first question was carried out, and its answer lost.
    if (!reply.error().says("lease already exists")) return reply.error().fault;
    return Lease{number, *length_of(seconds), asked_at};
  }
  const auto granted = number_of(reply->json, "ID");
  const auto length = length_of(number_of(reply->json, "TTL").value_or(0));
  if (granted != number || !length) return senseless();
  return Lease{number, *length, asked_at};
}

Result<base::Done> Client::grant_for(const sessions::Transaction& change, const CallLimit& limit) {
  if (needs_lease(change) && lease_ == 0) {
    const auto ours = grant(seconds_for(ttl_.length()), limit);
    if (!ours) return ours.error();
    lease_ = ours->number;
    time_.renewed(ours->asked_at, ours->length);
  }
  if (const auto lasts = longest_in(change)) {
    const auto other = grant(seconds_for(*lasts), limit);
    if (!other) return other.error();
    if (other->length < std::min(*lasts, Ttl::longest)) return senseless();
    other_lease_ = other->number;
  }
  return base::Done{};
}

Result<std::optional<Millis>> Client::time_left(const std::string& path, const CallLimit& limit) {
  const auto found =
      gateway_.ask("/v3/kv/range", Json{{"key", base64_of(path)}}.dump(), Repeat::yes, limit);
  if (!found) return found.error().fault;
  const Json& pairs = member_of(found->json, "kvs");
  if (pairs.is_null() || pairs.empty()) return std::optional<Millis>{};
  const auto pair = pairs.is_array() ? key_value_in(pairs.front()) : std::nullopt;
  if (!pair || pair->key != path) return senseless();
  // etcdctl(1) can write a key that never ends.
  if (pair->lease == 0) return std::optional{Ttl::longest};
  const auto told = gateway_.ask("/v3/lease/timetolive", with_id(pair->lease), Repeat::yes, limit);
  if (!told) return told.error().fault;
  const auto seconds = number_of(told->json, "TTL");
  if (!seconds || number_of(told->json, "ID") != pair->lease) return senseless();
  return std::optional{length_of(*seconds).value_or(Millis{0})};
}

Result<std::int64_t> Client::keep_alive(const CallLimit& limit) {
  const auto reply = gateway_.ask("/v3/lease/keepalive", with_id(lease_), Repeat::yes, limit);
  if (!reply) return reply.error().fault;
  const auto term = number_of(member_of(reply->json, "header"), "raft_term");
  const auto seconds = number_of(reply->json, "TTL");
  if (!term || *term <= 0 || !seconds) return senseless();
  const auto length = length_of(*seconds);
  if (!length) return std::int64_t{0};
  if (number_of(reply->json, "ID") != lease_ || *length < time_.length()) return senseless();
  time_.renewed(reply->sent_at, *length);
  return *term;
}

Result<std::int64_t> Client::renew(const CallLimit& limit) {
  auto term = keep_alive(limit);
  if (!term || *term != 0) return term;
  // A leader that has just been elected may not know all leases yet. Once a member has answered
  // this, it has heard of everything before.
  Round look;
  look.get(last_word_of("-"));
  if (auto seen = ask_part(look, limit); !seen) return seen.error().fault;
  term = keep_alive(limit);
  if (term && *term == 0) expired_ = true;
  return term;
}

Result<bool> Client::keep(const std::string& path, const CallLimit& limit) {
  Round round;
  round.change.check(path);
  constexpr int most_tries = 3;
  for (int tries = 1;; ++tries) {
    std::int64_t term = 0;
    if (lease_ != 0) {
      const auto renewed = renew(limit);
      if (!renewed) return renewed.error();
      if (*renewed == 0) return false;
      term = *renewed;
    }
    const auto answer = ask_part(round, limit);
    if (!answer) return answer.error().fault;
    // Another leader in between: the renewal may have been confirmed by one that was deposed.
    if (term != 0 && answer->term != term && tries < most_tries) continue;
    return sessions::unless_gone(answer->answers.change);
  }
}

// ---- questions ----

/// A change whose answer is lost is asked for again, as the same question: then its keys tell
/// whether it was made.
base::Result<TransactionAnswer, Trouble> Client::ask_part(const Round& round,
                                                          const CallLimit& limit) {
  const Asker self = asker();
  const auto question = question_of(round, self);
  const bool only_reads =
      round.change.leftovers.empty() &&
      std::all_of(round.change.steps.begin(), round.change.steps.end(),
                  [](const auto& each) { return each.kind == sessions::Transaction::Kind::check; });
  const auto repeat = only_reads ? Repeat::yes : Repeat::no;
  auto asked = Asked::once;
  auto reply = gateway_.ask(transaction_path, question, repeat, limit);
  Backoff pauses{Gateway::longest_pause};
  while (!reply) {
    const Fault& fault = reply.error().fault;
    if (reply.error().says("lease not found")) {
      expired_ = true;
      return Trouble{session_over()};
    }
    const bool again = fault.kind == Fault::Kind::silent && repeat == Repeat::no &&
                       fault.why != cut_short && !os::ended(limit);
    if (!again) return reply.error();
    asked = Asked::again;
    os::wait_any({limit.interrupt},
                 std::min(limit.until, Deadline::after(base::now(), pauses.next())));
    reply = gateway_.ask(transaction_path, question, repeat, limit);
  }
  auto answer = answer_in(reply->json, round, self, asked);
  if (!answer) return Trouble{senseless()};
  answer->answers.is_repeated = asked == Asked::again;
  for (const auto& each : round.gets) {
    if (each.watch == sessions::Watch::yes) watches_.add(each.path, answer->revision);
  }
  return *std::move(answer);
}

Answers Client::ask(const Round& round, const CallLimit& limit) {
  const bool is_tidying = round.change.steps.empty() && !round.change.leftovers.empty() &&
                          round.gets.empty() && round.queues.empty() && round.children.empty();
  const auto parts = parts_of(round);
  if (is_tidying) {  // nobody waits for the answers
    for (const auto& each : parts.rounds) {
      gateway_.post(transaction_path, question_of(each, asker()), limit);
    }
    return {};
  }
  if (expired_) return without_answer(round, session_over());
  watches_.begin_round();
  if (const auto granted = grant_for(round.change, limit); !granted) {
    return without_answer(round, granted.error());
  }
  Answers all;
  for (std::size_t i = 0; i < parts.rounds.size(); ++i) {
    Round part = parts.rounds[i];
    if (!all.change) part.change.leftovers.clear();
    const auto answer = ask_part(part, limit);
    Answers answers;
    if (answer) {
      answers = answer->answers;
    } else {
      const Trouble& trouble = answer.error();
      // Only deletions go on: a text that is left out makes the change one of these.
      const bool has_no_room = trouble.says("space exceeded");
      answers = without_answer(part, trouble.fault,
                               has_no_room ? first_lasting(part.change) : std::nullopt);
    }
    if (i == 0) all.change = answers.change;
    all.is_repeated = all.is_repeated || answers.is_repeated;
    const auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(all.nodes, answers.nodes);
    append(all.queues, answers.queues);
    append(all.children, answers.children);
  }
  // No connection for it, or no time: process() and a listener try again.
  if (watches_.wants_stream(gateway_) && watches_.due().passed(base::now())) {
    watches_.open(gateway_, limit);
  }
  return all;
}

// ---- connections ----

Result<base::Done> Client::await_connection(const CallLimit& limit) {
  return gateway_.connect(limit);
}

void Client::leave_server() {
  gateway_.leave_member();
  watches_.close();
}

bool Client::process(const CallLimit& limit, const std::function<bool()>& done) {
  for (;;) {
    watches_.receive(gateway_);
    if (done()) return true;
    if (os::ended(limit)) return false;
    const auto now = base::now();
    const bool is_alive = lease_ != 0 && !expired_;
    const bool has_time = limit.until.left(now) >= least_for_a_renewal || time_.is_urgent(now);
    if (is_alive && has_time && time_.due().passed(now)) {
      if (!renew(limit.at_most(Deadline::after(now, for_a_renewal)))) time_.failed(base::now());
      continue;
    }
    const bool wants_stream = watches_.wants_stream(gateway_);
    if (wants_stream && watches_.due().passed(now)) {
      watches_.open(gateway_, limit);
      continue;
    }
    Deadline until = is_alive && has_time ? time_.due() : Deadline::never();
    if (wants_stream) until = std::min(until, watches_.due());
    if (const int stream = watches_.descriptor(); stream >= 0) {
      (void)os::wait_for(stream, os::Want::read, limit.at_most(until));
    } else {
      os::wait_any({limit.interrupt}, std::min(limit.until, until));
    }
  }
}

}  // namespace store::etcd
