#include "store/zookeeper/client.hpp"

#include <algorithm>

#include "os/file.hpp"
#include "os/libraries.hpp"
#include "os/net.hpp"
#include "os/poll.hpp"

namespace store::zookeeper {

namespace {

// While no server can be reached the library has nothing to wait for. Doubling, and not for long: a
// session ends when it has been without a server for a second or two.
constexpr Millis between_attempts{20};
constexpr Millis longest_pause{100};
// A server that takes a client and drops it at once is not one that can be reached.
constexpr Millis proves_itself{1'000};

// More than any ensemble has.
constexpr int most_servers = 100;

// More than a healthy server has sent before we read.
constexpr int most_messages = 1'000;

/// Whether the connection is open, by the result of zookeeper_process().
bool is_open(int processed) {
  return processed == ZOK || processed == ZNOTHING;
}

}  // namespace

void ReceiveLimit::renew(int socket) {
  before_ = os::bytes_received(socket);
}

void ReceiveLimit::enforce(int socket) {
  const std::uint64_t received = os::bytes_received(socket);
  if (received < before_) before_ = 0;  // another connection than the one that was asked
  if (received - before_ > most_bytes) os::hang_up(socket);
}

Result<std::shared_ptr<Client>> Client::open(const ZooKeeper& ensemble, Millis timeout,
                                             const CallLimit& limit) {
  zoo_set_debug_level(static_cast<ZooLogLevel>(0));  // it would write to our stderr
  std::shared_ptr<Client> session{new Client{ensemble}};
  const std::string not_asked = os::leave_plugins_out();
  constexpr Millis::rep most = 1'000'000'000;
  zhandle_t* const handle =
      zookeeper_init(ensemble.hosts.c_str(), on_event,
                     static_cast<int>(std::min(timeout.count(), most)), nullptr, session.get(), 0);
  if (handle == nullptr) return Fault{Fault::Kind::unreachable, "no such host" + not_asked};
  session->handle_ = handle;
  // Otherwise it would ask for the hosts' addresses at every step, not only before it connects.
  zoo_set_servers_resolution_delay(handle, -1);
  if (!ensemble.user.empty()) {
    const std::string login = ensemble.user + ":" + ensemble.password.reveal();
    zoo_add_auth(
        handle, "digest", login.data(), static_cast<int>(login.size()), [](int, const void*) {},
        nullptr);
  }
  if (auto connected = session->await_connection(limit); !connected) {
    return std::move(connected).error();
  }
  return session;
}

Client::~Client() {
  if (handle_ != nullptr) zookeeper_close(handle_);
}

void Client::on_event(zhandle_t* /*handle*/, int type, int state, const char* path, void* context) {
  auto& session = *static_cast<Client*>(context);
  if (state == ZOO_AUTH_FAILED_STATE) session.refused_ = true;
  if (type == ZOO_SESSION_EVENT || path == nullptr) return;
  session.changed_[path] = type == ZOO_DELETED_EVENT ? Change::gone : Change::written;
}

Client::Change Client::change_of(const std::string& path) {
  const auto found = changed_.find(path);
  if (found == changed_.end()) return Change::none;
  const Change change = found->second;
  changed_.erase(found);
  return change;
}

// ---- the connection ----

Result<base::Done> Client::await_connection(const CallLimit& limit) {
  // If the connection has ended, better to read that now than to ask in vain: the library would
  // forget neither the question nor that it is to be answered first.
  if (is_connected()) step({Deadline::at(base::now()), limit.interrupt});
  const bool done =
      is_connected() || process(limit, [&] { return is_connected() || expired() || refused_; });
  if (refused_) return Fault{Fault::Kind::denied, zerror(ZAUTHFAILED)};
  if (done) return base::Done{};
  return Fault{Fault::Kind::unreachable, "no server answers"};
}

void Client::leave_server() {
  if (is_connected()) hang_up();
}

void Client::hang_up() {
  os::hang_up(socket_);
  // Read the data that has arrived, then the end; but nothing from a server that is no ZooKeeper.
  int processed = ZOK;
  for (int i = 0; i < most_messages && is_open(processed) && !is_no_zookeeper(); ++i) {
    processed = zookeeper_process(handle_, ZOOKEEPER_READ | ZOOKEEPER_WRITE);
  }
}

bool Client::process(const CallLimit& limit, const std::function<bool()>& done) {
  for (;;) {
    step(limit);
    if (done()) return true;
    if (limit.until.passed(base::now()) || os::is_readable(limit.interrupt)) return false;
  }
}

void Client::step(const CallLimit& limit) {
  if (has_no_server()) pass_over();
  int interest = 0;
  timeval wait{};
  const int code = zookeeper_interest(handle_, &socket_, &interest, &wait);
  if (socket_ >= 0) os::close_on_exec(socket_);
  const auto now = base::now();
  if (code != ZOK || socket_ < 0 || interest == 0) {
    trial_.reset();
    if (connected_since_ && now - *connected_since_ >= proves_itself) pause_ = Millis{0};
    connected_since_.reset();
    pause_ = std::clamp(pause_ * 2, between_attempts, longest_pause);
    os::wait_any({limit.interrupt}, std::min(limit.until, Deadline::after(now, pause_)));
    return;
  }
  const auto span = std::chrono::seconds{wait.tv_sec} + std::chrono::microseconds{wait.tv_usec};
  Deadline until = std::min(limit.until, Deadline::at(now + span));
  if (!is_connected()) {
    server_ = zoo_get_current_server(handle_);
    until = std::min(until, trial_.ends(limit.until, timeout(), now));
  }
  const auto want = (interest & ZOOKEEPER_WRITE) != 0 ? os::Want::write : os::Want::read;
  const bool ready = os::wait_for(socket_, want, limit.at_most(until)) == os::Ready::yes;
  if (ready) receive_limit_.enforce(socket_);
  const int processed = zookeeper_process(handle_, ready ? interest : 0);
  const bool useless = is_no_zookeeper() || (!is_connected() && trial_.failed(base::now()));
  if (is_open(processed) && useless) hang_up();
  if (!is_open(processed) || useless || is_connected()) trial_.reset();
  if (ready && is_open(processed) && is_connected()) contact_.heard(now, timeout());
  if (is_connected() && !connected_since_) connected_since_ = base::now();
}

/// Not even on the way to a server. Which state the library names then depends on how it lost one.
bool Client::has_no_server() const {
  const int state = zoo_state(handle_);
  return !is_connected() && state != ZOO_CONNECTING_STATE && state != ZOO_ASSOCIATING_STATE &&
         state != ZOO_READONLY_STATE;
}

/// The library believes any answer. For a session of less than no time it would send signs of life
/// without end; and we have not asked to be let in for reading only.
bool Client::is_no_zookeeper() const {
  return (is_connected() && timeout() <= Millis{0}) || zoo_state(handle_) == ZOO_READONLY_STATE;
}

/// Left to itself, the library comes back to the first server first, or leaves out every other one.
void Client::pass_over() {
  if (server_.empty()) return;
  for (int i = 0; i < most_servers; ++i) {
    zoo_cycle_next_server(handle_);
    if (server_ == zoo_get_current_server(handle_)) break;
  }
  server_.clear();
}

}  // namespace store::zookeeper
