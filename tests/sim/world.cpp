#include "world.hpp"

#include <algorithm>
#include <limits>

namespace sim {
namespace {

World* current_world = nullptr;
constexpr Nanos tick = 100'000'000;  // hz 10
constexpr Micros epoch = 1'700'000'000'000'000;

}  // namespace

World* World::current() {
  return current_world;
}

World::World(std::uint64_t seed, std::shared_ptr<ScriptEngine> engine)
    : engine_{std::move(engine)}, random_{seed} {
  current_world = this;
  scheduler_.when_over([this] { changed(); });
}

World::~World() {
  current_world = nullptr;
  // Before the servers, which they know; cancelled events also have connections.
  for (const auto& server : servers_) {
    for (const auto& connection : server->connections) connection->session.reset();
  }
}

Server& World::add_server(const std::string& path) {
  servers_.push_back(std::make_unique<Server>(path, engine_));
  servers_.back()->number = servers_.size() - 1;
  return *servers_.back();
}

Micros World::clock(const Server& server) const {
  const Micros drift = (now() - server.drifts_since) / 1'000'000 * server.drift_ppm / 1000;
  return epoch + now() / 1000 + server.clock_offset + drift;
}

Nanos World::machine_time() const {
  // A machine has been up for a while when a client starts.
  return now() + 1000 * 1'000'000'000LL;
}

Nanos World::wall_time() const {
  const Fiber* const fiber = scheduler_.running();
  const auto number = fiber == nullptr ? 0 : static_cast<std::size_t>(fiber->process().number);
  const Micros apart = number < clocks_.size() ? clocks_[number] : 0;
  return epoch * 1000 + now() + apart * 1000;
}

void World::fill_randomly(unsigned char* bytes, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = same_random_ ? 7 : static_cast<unsigned char>(random_.bits());
  }
}

// ---- descriptors -----------------------------------------------------------------------------

int World::add(std::shared_ptr<Descriptor> descriptor) {
  const Fiber* fiber = scheduler_.running();
  descriptors_.push_back({std::move(descriptor), fiber == nullptr ? nullptr : &fiber->process()});
  return first_descriptor + static_cast<int>(descriptors_.size()) - 1;
}

Descriptor* World::find(int number) const {
  const auto index = static_cast<std::size_t>(number - first_descriptor);
  if (number < first_descriptor || index >= descriptors_.size()) return nullptr;
  return descriptors_[index].descriptor.get();
}

void World::close(int number) {
  const auto index = static_cast<std::size_t>(number - first_descriptor);
  if (index < descriptors_.size()) descriptors_[index].descriptor.reset();
}

std::size_t World::open_descriptors(const Process& process) const {
  return static_cast<std::size_t>(
      std::count_if(descriptors_.begin(), descriptors_.end(),
                    [&](const Open& each) { return each.descriptor && each.process == &process; }));
}

void World::changed() {
  for (const Waiter& each : waiting_) {
    if ((*each.ready)()) scheduler_.wake(*each.fiber);
  }
}

void World::wait(Nanos until, const std::function<bool()>& ready) {
  Fiber* self = scheduler_.running();
  while (!ready() && now() < until) {
    waiting_.push_back({self, &ready});
    scheduler_.park(until);
    std::erase_if(waiting_, [&](const Waiter& each) { return each.fiber == self; });
  }
}

// ---- the network -----------------------------------------------------------------------------

bool World::strikes(Disturbance::Kind kind, const Connection& connection) {
  for (const Disturbance& each : disturbances_) {
    if (each.kind != kind || now() < each.from || now() >= each.until) continue;
    if (each.process != 0 && each.process != connection.process->number) continue;
    if (each.server >= 0 && static_cast<std::size_t>(each.server) != connection.server->number) {
      continue;
    }
    if (random_.chance(each.percent)) return true;
  }
  return false;
}

/// When what is sent now arrives, behind what was sent before.
Nanos World::arrival(const Connection& connection, Nanos after) {
  Nanos when = now() + random_.between(20'000, 400'000);
  for (const Disturbance& each : disturbances_) {
    if (now() < each.from || now() >= each.until) continue;
    if (each.process != 0 && each.process != connection.process->number) continue;
    if (each.server >= 0 && static_cast<std::size_t>(each.server) != connection.server->number) {
      continue;
    }
    if (each.kind == Disturbance::Kind::slow) when += random_.between(0, each.length);
    if (each.kind == Disturbance::Kind::parted) when = std::max(when, each.until);
  }
  return std::max(when, after + 1);
}

std::shared_ptr<Connection> World::connect(const std::string& path) {
  const auto found = std::find_if(servers_.begin(), servers_.end(),
                                  [&](const auto& each) { return each->path == path; });
  if (found == servers_.end() || (*found)->down) return nullptr;
  Server& server = **found;
  auto connection = std::make_shared<Connection>();
  connection->server = &server;
  connection->process = &scheduler_.running()->process();
  server.connections.push_back(connection);
  connection->session = std::make_unique<Session>(server.redis, ++server.connected);
  connection->session->watch([this, &server](const Words& words, const Reply& reply, Micros now) {
    if (observer_ != nullptr) observer_->executed(server, words, reply, now);
  });
  scheduler_.at(arrival(*connection, 0), [this, connection] {
    connection->established = true;
    changed();
  });
  return connection;
}

void World::send(const std::shared_ptr<Connection>& connection, std::string bytes) {
  const bool blocks = bytes.find("\r\nBLPOP\r\n") != std::string::npos;
  const bool refused = blocks && strikes(Disturbance::Kind::cut_waits, *connection);
  const bool cut = refused || strikes(Disturbance::Kind::cut_commands, *connection);
  if (cut) bytes.resize(refused ? 0 : random_.number(bytes.size() + 1));
  auto& last = connection->last_to_server;
  last = arrival(*connection, last);
  scheduler_.at(
      last, [this, connection, cut, bytes = std::move(bytes)] { receive(connection, bytes, cut); });
}

void World::receive(const std::shared_ptr<Connection>& connection, const std::string& bytes,
                    bool cut) {
  Server& server = *connection->server;
  if (!connection->session) return;
  if (now() < server.stopped_until) {
    scheduler_.at(server.stopped_until,
                  [this, connection, bytes, cut] { receive(connection, bytes, cut); });
    return;
  }
  connection->session->receive(bytes, clock(server));
  if (cut) break_off(connection);
  flush(server);
}

void World::break_off(const std::shared_ptr<Connection>& connection) {
  if (!connection->session) return;
  std::erase(connection->server->connections, connection);
  connection->session.reset();
  connection->last_to_client = arrival(*connection, connection->last_to_client);
  scheduler_.at(connection->last_to_client, [this, connection] {
    connection->ended = true;
    changed();
  });
}

void World::hang_up(const std::shared_ptr<Connection>& connection) {
  connection->last_to_server = arrival(*connection, connection->last_to_server);
  scheduler_.at(connection->last_to_server, [connection] {
    if (!connection->session) return;
    std::erase(connection->server->connections, connection);
    connection->session.reset();
  });
}

void World::deliver(const std::shared_ptr<Connection>& connection, std::string bytes) {
  const bool cut = strikes(Disturbance::Kind::cut_answers, *connection);
  if (cut) bytes.resize(random_.number(bytes.size() + 1));
  auto& last = connection->last_to_client;
  last = arrival(*connection, last);
  scheduler_.at(last, [this, connection, bytes = std::move(bytes)] {
    connection->inbox += bytes;
    changed();
  });
  if (cut) break_off(connection);
}

// Delivers the server's answers, and schedules its next look at blocked clients.
void World::flush(Server& server) {
  for (auto answered = server.redis.take_answered(); !answered.empty();
       answered = server.redis.take_answered()) {
    for (const Answered& each : answered) {
      for (const auto& connection : server.connections) {
        if (&connection->session->client() != each.client) continue;
        connection->session->answer(each.reply, clock(server));
        break;
      }
    }
  }
  for (std::size_t i = 0; i < server.connections.size(); ++i) {
    const auto connection = server.connections[i];
    std::string bytes = connection->session->take_output();
    if (bytes.empty()) continue;
    deliver(connection, std::move(bytes));
    if (!connection->session) --i;  // it was cut
  }
  plan_tick(server);
}

void World::plan_tick(Server& server) {
  const auto due = server.redis.next_timeout();
  if (!due) return;
  const Nanos wanted = std::max(now() + (*due - clock(server)) * 1000, now());
  const Nanos at = std::max((wanted / tick + 1) * tick, server.stopped_until);
  if (server.tick_at != 0 && server.tick_at <= at) return;
  server.tick_at = at;
  scheduler_.at(at, [this, &server, at] {
    if (server.tick_at != at) return;  // there was an earlier one
    server.tick_at = 0;
    if (server.down) return;
    if (now() >= server.stopped_until) server.redis.tick(clock(server));
    flush(server);
  });
}

// ---- faults ------------------------------------------------------------------------------------

void World::stop(Server& server, Nanos until) {
  server.stopped_until = std::max(server.stopped_until, until);
}

void World::go_down(Server& server, RedisDouble::Data data) {
  server.down = true;
  const auto all = server.connections;
  for (const auto& each : all) break_off(each);
  server.redis.restart(data);
}

void World::step_clock(Server& server, Micros by) {
  server.clock_offset += by;
  plan_tick(server);
}

void World::set_drift(Server& server, std::int64_t ppm) {
  const Micros before = clock(server);
  server.drift_ppm = ppm;
  server.drifts_since = now();
  server.clock_offset += before - clock(server);
}

void World::crash(Process& process) {
  std::erase_if(waiting_, [&](const Waiter& each) { return &each.fiber->process() == &process; });
  scheduler_.kill(process);
  for (Open& each : descriptors_) {
    if (each.process == &process) each.descriptor.reset();
  }
}

Reply World::command(Server& server, const Words& words) {
  const auto reply = server.redis.execute(nobody_, words, clock(server));
  flush(server);
  return reply.value_or(Reply::nil());
}

}  // namespace sim
