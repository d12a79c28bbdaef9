#include "redis_double.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "commands.hpp"

namespace sim {
namespace {

Reply no_such_command(const Words& command) {
  std::string text =
      fmt::format("ERR unknown command '{}', with args beginning with: ", command[0]);
  for (std::size_t i = 1; i < command.size() && i < 20; ++i) text += '\'' + command[i] + "' ";
  return Reply::error(std::move(text));
}

Reply no_such_subcommand(const Words& command) {
  auto name = command[0];
  std::transform(name.begin(), name.end(), name.begin(), ::toupper);
  return Reply::error(fmt::format("ERR unknown subcommand '{}'. Try {} HELP.", command[1], name));
}

Reply wrong_count(const std::string& name) {
  return Reply::error(fmt::format("ERR wrong number of arguments for '{}' command", lower(name)));
}

}  // namespace

Keyspace& RedisDouble::keys(std::size_t database, Micros now) {
  databases_.at(database).set_time(now / 1000);
  return databases_.at(database);
}

std::optional<Reply> RedisDouble::execute(Client& client, const Words& command, Micros now) {
  now_ = now;
  for (auto& database : databases_) database.set_time(now / 1000);
  auto reply = perform(client, command);
  for (std::size_t i = 0; i < databases_.size(); ++i) {
    if (databases_.at(i).has_new_lists()) serve_pops(i);
  }
  return reply;
}

std::optional<Reply> RedisDouble::perform(Client& client, const Words& command) {
  const CommandRule* rule = rule_of(command[0]);
  if (rule == nullptr) return no_such_command(command);
  if (!fits(*rule, command)) return wrong_count(command[0]);
  const bool known = password_.empty() || client.authenticated;
  if (!known && lower(command[0]) != "auth") return Reply::error("NOAUTH Authentication required.");
  if (rule->denied_without_memory && out_of_memory_) return Reply::error(errors::no_memory);
  if (rule->act != nullptr) return rule->act(databases_.at(client.database), command);
  const std::string name = lower(command[0]);
  if (name == "flushall") {
    for (auto& database : databases_) database.clear();
    return Reply::ok();
  }
  if (name == "evalsha") return eval(client, command, true);
  if (name == "eval") return eval(client, command, false);
  if (name == "blpop") return block_in_pop(client, command);
  if (name == "wait") return block_in_wait(client, command);
  if (name == "script") return script(command);
  if (name == "config") return config(command);
  if (name == "auth") return authenticate(client, command);
  if (name == "select") {
    const auto number = integer_in(command[1]);
    if (!number) return Reply::error(errors::not_integer);
    if (*number < 0 || *number >= static_cast<std::int64_t>(databases_.size())) {
      return Reply::error("ERR DB index is out of range");
    }
    client.database = static_cast<std::size_t>(*number);
    return Reply::ok();
  }
  if (name == "time") {
    return Reply::bulks({std::to_string(now_ / 1'000'000), std::to_string(now_ % 1'000'000)});
  }
  if (name == "ping") {
    if (command.size() > 2) return wrong_count("ping");
    return command.size() == 1 ? Reply::status("PONG") : Reply::bulk(command[1]);
  }
  if (name == "role")
    return Reply::array({Reply::bulk("master"), Reply::number(0), Reply::array({})});
  if (name == "info") return Reply::bulk(info());
  if (name == "client") {
    if (lower(command[1]) == "id") return Reply::number(static_cast<std::int64_t>(client.id));
    return no_such_subcommand(command);
  }
  return Reply::error("ERR This instance has cluster support disabled");  // asking, cluster
}

// ---- blocking ----------------------------------------------------------------------------------

Reply RedisDouble::pop(std::size_t database, const std::string& key) {
  Reply element = rule_of("lpop")->act(databases_.at(database), {"lpop", key});
  return Reply::array({Reply::bulk(key), std::move(element)});
}

std::optional<Reply> RedisDouble::block_in_pop(Client& client, const Words& command) {
  const auto seconds = real_in(command.back());
  if (!seconds || std::abs(*seconds) > 1e12) {
    return Reply::error("ERR timeout is not a float or out of range");
  }
  if (*seconds < 0) return Reply::error("ERR timeout is negative");
  Client::Waits waits{{command.begin() + 1, command.end() - 1}, 0, std::nullopt};
  if (*seconds > 0) {
    waits.until = (now_ / 1000 + static_cast<Micros>(std::ceil(*seconds * 1000))) * 1000;
  }
  for (const std::string& key : waits.keys) {
    const Value* value = databases_.at(client.database).find(key);
    if (value == nullptr) continue;
    if (!std::holds_alternative<List>(value->content)) return Reply::error(errors::wrong_type);
    return pop(client.database, key);
  }
  client.waits = std::move(waits);
  blocked_.push_back(&client);
  return std::nullopt;
}

std::optional<Reply> RedisDouble::block_in_wait(Client& client, const Words& command) {
  const auto count = integer_in(command[1]);
  if (!count) return Reply::error(errors::not_integer);
  const auto length = integer_in(command[2]);
  if (!length) return Reply::error("ERR timeout is not an integer or out of range");
  if (*length < 0) return Reply::error("ERR timeout is negative");
  if (replicas_ >= *count) return Reply::number(replicas_);
  Client::Waits waits{{}, *count, std::nullopt};
  if (*length > 0) waits.until = (now_ / 1000 + *length) * 1000;
  client.waits = std::move(waits);
  blocked_.push_back(&client);
  return std::nullopt;
}

void RedisDouble::answer(std::list<Client*>::iterator blocked, Reply reply) {
  (*blocked)->waits.reset();
  answered_.push_back({*blocked, std::move(reply)});
  blocked_.erase(blocked);
}

// After a command, or a whole script: the lists that are new, and those who wait for them, in the
// order in which they came.
void RedisDouble::serve_pops(std::size_t database) {
  for (const std::string& key : databases_.at(database).take_new_lists()) {
    for (auto each = blocked_.begin(); each != blocked_.end();) {
      const auto next = std::next(each);
      const Client& client = **each;
      const auto& keys = client.waits->keys;
      const Value* value = databases_.at(database).find(key);
      if (value == nullptr || !std::holds_alternative<List>(value->content)) break;
      if (client.database == database && std::find(keys.begin(), keys.end(), key) != keys.end()) {
        answer(each, pop(database, key));
      }
      each = next;
    }
  }
}

void RedisDouble::serve_waits() {
  for (auto each = blocked_.begin(); each != blocked_.end();) {
    const auto next = std::next(each);
    const auto& waits = *(*each)->waits;
    if (waits.keys.empty() && replicas_ >= waits.count) answer(each, Reply::number(replicas_));
    each = next;
  }
}

void RedisDouble::tick(Micros now) {
  now_ = now;
  for (auto each = blocked_.begin(); each != blocked_.end();) {
    const auto next = std::next(each);
    const auto& waits = *(*each)->waits;
    if (waits.until && now >= *waits.until) {
      answer(each, waits.keys.empty() ? Reply::number(replicas_) : Reply::nil_array());
    }
    each = next;
  }
}

std::optional<Micros> RedisDouble::next_timeout() const {
  std::optional<Micros> soonest;
  for (const Client* client : blocked_) {
    const auto& until = client->waits->until;
    if (until && (!soonest || *until < *soonest)) soonest = until;
  }
  return soonest;
}

std::vector<Answered> RedisDouble::take_answered() {
  return std::exchange(answered_, {});
}

void RedisDouble::forget(Client& client) {
  blocked_.remove(&client);
  std::erase_if(answered_, [&](const Answered& each) { return each.client == &client; });
  client.waits.reset();
}

void RedisDouble::restart(Data data) {
  scripts_.clear();
  out_of_memory_ = false;
  if (data == Data::lost) {
    for (auto& database : databases_) database.clear();
  }
}

void RedisDouble::set_replicas(std::int64_t that_acknowledge, Micros now) {
  now_ = now;
  replicas_ = that_acknowledge;
  serve_waits();
}

// ---- scripts -----------------------------------------------------------------------------------

Reply RedisDouble::eval(Client& client, const Words& command, bool by_digest) {
  const auto count = integer_in(command[2]);
  if (!count) return Reply::error(errors::not_integer);
  if (*count > static_cast<std::int64_t>(command.size()) - 3) {
    return Reply::error("ERR Number of keys can't be greater than number of args");
  }
  if (*count < 0) return Reply::error("ERR Number of keys can't be negative");
  const std::string digest = by_digest ? lower(command[1]) : engine_->digest_of(command[1]);
  if (by_digest && !scripts_.contains(digest)) {
    return Reply::error("NOSCRIPT No matching script. Please use EVAL.");
  }
  if (!by_digest) {
    if (auto wrong = engine_->compile(digest, command[1])) return Reply::error(*wrong);
    scripts_.insert(digest);
  }
  script_wrote_ = false;
  const std::size_t database = client.database;
  const auto words_of = std::span{command}.subspan(3);
  const auto keys = static_cast<std::size_t>(*count);
  Reply reply = engine_->run(digest, words_of.first(keys), words_of.subspan(keys),
                             [&](const Words& words) { return call_from_script(client, words); });
  client.database = database;
  return reply;
}

Reply RedisDouble::call_from_script(Client& client, const Words& command) {
  const CommandRule* rule = rule_of(command[0]);
  if (rule == nullptr) return Reply::error("ERR Unknown Redis command called from script");
  if (!fits(*rule, command)) {
    return Reply::error("ERR Wrong number of args calling Redis command from script");
  }
  if (!rule->in_scripts) {
    return Reply::error("ERR This Redis command is not allowed from script");
  }
  // A script that has begun to write may go on: half of a script would be worse than a little more
  // memory.
  if (rule->denied_without_memory && out_of_memory_ && !script_wrote_) {
    return Reply::error(errors::no_memory);
  }
  script_wrote_ = script_wrote_ || rule->writes;
  if (rule->act != nullptr) return rule->act(databases_.at(client.database), command);
  return *perform(client, command);
}

void RedisDouble::load_script(std::string_view digest, std::string_view body) {
  const std::string name{digest};
  if (const auto wrong = engine_->compile(name, body)) throw std::runtime_error{*wrong};
  scripts_.insert(name);
}

Reply RedisDouble::script(const Words& command) {
  const std::string act = lower(command[1]);
  if (act == "load" && command.size() == 3) {
    const std::string& digest = engine_->digest_of(command[2]);
    if (auto wrong = engine_->compile(digest, command[2])) return Reply::error(*wrong);
    scripts_.insert(digest);
    return Reply::bulk(digest);
  }
  if (act == "flush") {
    scripts_.clear();
    return Reply::ok();
  }
  if (act == "exists" && command.size() > 2) {
    Reply reply = Reply::array({});
    for (std::size_t i = 2; i < command.size(); ++i) {
      reply.elements.push_back(Reply::number(scripts_.contains(lower(command[i])) ? 1 : 0));
    }
    return reply;
  }
  return no_such_subcommand(command);
}

// ---- the server itself -------------------------------------------------------------------------

// maxmemory is either 0 or far too little: there is no memory to count.
Reply RedisDouble::config(const Words& command) {
  const std::string act = lower(command[1]);
  if (act == "get" && command.size() == 3) {
    const std::string name = lower(command[2]);
    if (name == "maxmemory") return Reply::bulks({name, out_of_memory_ ? "1" : "0"});
    if (name == "maxmemory-policy") return Reply::bulks({name, "noeviction"});
    if (name == "min-replicas-to-write") return Reply::bulks({name, "0"});
    if (name == "save") return Reply::bulks({name, ""});
    return Reply::array({});
  }
  if (act == "set" && command.size() == 4 && lower(command[2]) == "maxmemory") {
    out_of_memory_ = command[3] != "0";
    return Reply::ok();
  }
  if (act == "set" && command.size() == 4 && lower(command[2]) == "requirepass") {
    password_ = command[3];
    return Reply::ok();
  }
  return no_such_subcommand(command);
}

Reply RedisDouble::authenticate(Client& client, const Words& command) {
  if (command.size() > 3) return Reply::error(errors::syntax);
  const bool default_user = command.size() == 2 || command[1] == "default";
  if (password_.empty() && command.size() == 2) {
    return Reply::error(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
  }
  if (default_user && (password_.empty() || command.back() == password_)) {
    client.authenticated = true;
    return Reply::ok();
  }
  return Reply::error("WRONGPASS invalid username-password pair or user is disabled.");
}

std::string RedisDouble::info() const {
  std::int64_t in_pop = 0;
  for (const Client* client : blocked_) in_pop += client->waits->keys.empty() ? 0 : 1;
  return fmt::format(
      "redis_version:7.0.15\r\nblocked_clients:{}\r\nmaxmemory:{}\r\nmaxmemory_policy:"
      "noeviction\r\n"
      "aof_enabled:0\r\nrole:master\r\nconnected_slaves:{}\r\n",
      in_pop, out_of_memory_ ? 1 : 0, replicas_);
}

}  // namespace sim
