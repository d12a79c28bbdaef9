#include "store/zookeeper/connection.hpp"

#include <algorithm>

#include "os/file.hpp"
#include "os/net.hpp"
#include "os/poll.hpp"

namespace store::zookeeper {
namespace {

// While no server can be reached the library has nothing to wait for.
constexpr Millis between_attempts{20};

// More than any ensemble has.
constexpr int most_servers = 100;

// More than a healthy server has sent before anybody looked.
constexpr int most_messages = 1'000;

/// Whether the connection is, by what processing came to.
bool is_open(int processed) {
  return processed == ZOK || processed == ZNOTHING;
}

}  // namespace

std::variant<std::unique_ptr<Connection>, Fault> Connection::open(const ZooKeeper& ensemble,
                                                                  Millis session,
                                                                  const CallLimit& limit) {
  zoo_set_debug_level(static_cast<ZooLogLevel>(0));  // it would write to our stderr
  std::unique_ptr<Connection> connection{new Connection};
  constexpr Millis::rep most = 1'000'000'000;
  zhandle_t* const handle = zookeeper_init(ensemble.hosts.c_str(), on_event,
                                           static_cast<int>(std::min(session.count(), most)),
                                           nullptr, connection.get(), 0);
  if (handle == nullptr) return Fault{Fault::Kind::unreachable, "no such host"};
  connection->handle_ = handle;
  // Or it would ask for the hosts' addresses at every step, not only before it connects.
  zoo_set_servers_resolution_delay(handle, -1);
  if (!ensemble.user.empty()) {
    const std::string login = ensemble.user + ":" + ensemble.password.reveal();
    zoo_add_auth(
        handle, "digest", login.data(), static_cast<int>(login.size()), [](int, const void*) {},
        nullptr);
  }
  if (auto fault = connection->await(limit)) return *std::move(fault);
  return connection;
}

Connection::~Connection() {
  if (handle_ != nullptr) zookeeper_close(handle_);
}

void Connection::on_event(zhandle_t* /*handle*/, int type, int state, const char* path,
                          void* context) {
  auto& connection = *static_cast<Connection*>(context);
  if (state == ZOO_AUTH_FAILED_STATE) connection.refused_ = true;
  if (type != ZOO_SESSION_EVENT && path != nullptr) connection.changed_.insert(path);
}

std::optional<Fault> Connection::await(const CallLimit& limit) {
  // If it has ended, better to read that now than to ask in vain: the library would forget neither
  // the question nor that it is to be answered first.
  if (is_there()) step({Deadline::at(base::now()), limit.interrupt});
  const bool done =
      is_there() || process(limit, [&] { return is_there() || expired() || refused_; });
  if (refused_) return Fault{Fault::Kind::denied, zerror(ZAUTHFAILED)};
  if (done) return std::nullopt;
  return Fault{Fault::Kind::unreachable, "no server answers"};
}

void Connection::leave() {
  if (is_there()) hang_up();
}

void Connection::hang_up() {
  os::hang_up(socket_);
  // What had come is read first, and then the end; but not what is no ZooKeeper's.
  int processed = ZOK;
  for (int i = 0; i < most_messages && is_open(processed) && !is_no_zookeeper(); ++i) {
    processed = zookeeper_process(handle_, ZOOKEEPER_READ | ZOOKEEPER_WRITE);
  }
}

bool Connection::process(const CallLimit& limit, const std::function<bool()>& until) {
  for (;;) {
    step(limit);
    if (until()) return true;
    if (limit.until.passed(base::now()) || os::is_readable(limit.interrupt)) return false;
  }
}

void Connection::step(const CallLimit& limit) {
  if (is_alone()) pass_over();
  int interest = 0;
  timeval wait{};
  const int code = zookeeper_interest(handle_, &socket_, &interest, &wait);
  if (socket_ >= 0) os::close_on_exec(socket_);
  const auto now = base::now();
  if (code != ZOK || socket_ < 0 || interest == 0) {
    trial_.reset();
    os::wait_any({limit.interrupt}, std::min(limit.until, Deadline::after(now, between_attempts)));
    return;
  }
  const auto span = std::chrono::seconds{wait.tv_sec} + std::chrono::microseconds{wait.tv_usec};
  Deadline until = std::min(limit.until, Deadline::at(now + span));
  if (!is_there()) {
    server_ = zoo_get_current_server(handle_);
    until = std::min(until, trial_.ends(limit, timeout()));
  }
  const auto want = (interest & ZOOKEEPER_WRITE) != 0 ? os::Want::write : os::Want::read;
  const bool ready = os::wait_for(socket_, want, {until, limit.interrupt}) == os::Ready::yes;
  if (ready) allowance_.enforce(socket_);
  const int processed = zookeeper_process(handle_, ready ? interest : 0);
  const bool useless = is_no_zookeeper() || (!is_there() && trial_.failed(base::now()));
  if (is_open(processed) && useless) hang_up();
  if (!is_open(processed) || useless || is_there()) trial_.reset();
}

/// Not even on the way to a server. Which state the library names then depends on how it lost one.
bool Connection::is_alone() const {
  const int state = zoo_state(handle_);
  return !is_there() && state != ZOO_CONNECTING_STATE && state != ZOO_ASSOCIATING_STATE &&
         state != ZOO_READONLY_STATE;
}

/// The library believes any answer. For a session of less than no time it would send signs of life
/// without end; and we have not asked to be let in for reading only.
bool Connection::is_no_zookeeper() const {
  return (is_there() && timeout() <= Millis{0}) || zoo_state(handle_) == ZOO_READONLY_STATE;
}

/// Left to itself, the library comes back to the first server first, or leaves out every other one.
void Connection::pass_over() {
  if (server_.empty()) return;
  for (int i = 0; i < most_servers; ++i) {
    zoo_cycle_next_server(handle_);
    if (server_ == zoo_get_current_server(handle_)) break;
  }
  server_.clear();
}

}  // namespace store::zookeeper
