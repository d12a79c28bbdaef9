// A simulated machine and network for the program: descriptors, sockets, servers, chance.
//
// The seam is the C library. syscalls.cpp takes the place of the calls that wait, connect or ask
// for the time (the linker's --wrap), so the code of src/ runs as it is, with the hiredis it always
// has; nothing in it knows of the simulation. A descriptor of the world is a number that the kernel
// never gives.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fibers.hpp"
#include "random.hpp"
#include "session.hpp"

namespace sim {

class World;
struct Server;

/// Something with a number that can be waited for.
class Descriptor {
 public:
  enum class Kind { counter, alarm, several, signals, socket };
  explicit Descriptor(Kind kind) : kind_{kind} {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  virtual ~Descriptor() = default;
  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] virtual bool is_readable(const World&) const { return false; }
  [[nodiscard]] virtual bool is_writable(const World&) const { return false; }

 private:
  Kind kind_;
};

/// A connection, both ends of it, and what is on its way.
struct Connection {
  Server* server = nullptr;
  Process* process = nullptr;        // the client's
  std::unique_ptr<Session> session;  // the server's end; nothing: it is gone
  std::string inbox;                 // at the client, unread
  bool ended = false;                // the client has nothing more to come
  bool established = false;
  Nanos last_to_server = 0;  // bytes do not overtake each other
  Nanos last_to_client = 0;
};

/// A Redis of the world, reached as unix:///PATH.
struct Server {
  Server(std::string where, std::shared_ptr<ScriptEngine> engine)
      : path{std::move(where)}, redis{std::move(engine)} {}
  std::string path;
  std::size_t number = 0;
  RedisDouble redis;
  std::vector<std::shared_ptr<Connection>> connections;
  std::uint64_t connected = 0;
  Nanos tick_at = 0;  // when it looks for what has waited long enough; 0: not planned
  Nanos stopped_until = 0;
  bool down = false;
  // Its clock: an offset, and what it gains in a second since then.
  Micros clock_offset = 0;
  Nanos drifts_since = 0;
  std::int64_t drift_ppm = 0;
};

/// A temporary fault of the network.
struct Disturbance {
  enum class Kind {
    cut_commands,  // what a client sends is cut somewhere, and the connection with it
    cut_answers,   // the same of what a server sends
    slow,          // each message takes up to `length`
    parted,        // nothing gets through before its end, between `process` and `server`
    cut_waits,     // a proxy closes the connection of a client that would block
  } kind;
  Nanos from;
  Nanos until;
  unsigned percent = 100;
  Nanos length = 0;
  int process = 0;  // 0: any
  int server = -1;  // -1: any
};

/// Sees everything that a server does.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void executed(Server& server, const Words& command, const Reply& reply, Micros now) = 0;
};

class World {
 public:
  static constexpr int first_descriptor = 1 << 20;
  static World* current();  // while one runs

  World(std::uint64_t seed, std::shared_ptr<ScriptEngine> engine);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] const Scheduler& scheduler() const { return scheduler_; }
  [[nodiscard]] Nanos now() const { return scheduler_.now(); }
  Random& random() { return random_; }
  Server& add_server(const std::string& path);
  Server& server(std::size_t number) { return *servers_.at(number); }
  [[nodiscard]] std::size_t servers() const { return servers_.size(); }
  [[nodiscard]] Micros clock(const Server& server) const;
  void watch(Observer* observer) { observer_ = observer; }
  // A mistake that can be planted: chance that is none.
  void sabotage_random(bool yes) { same_random_ = yes; }
  void fill_randomly(unsigned char* bytes, std::size_t size);
  /// CLOCK_BOOTTIME of the running client.
  [[nodiscard]] Nanos machine_time() const;
  /// CLOCK_REALTIME of the running client.
  [[nodiscard]] Nanos wall_time() const;
  /// By how much those of the processes differ from it, by their number.
  void set_clocks(std::vector<Micros> apart) { clocks_ = std::move(apart); }

  // The calls, as syscalls.cpp has them.
  int add(std::shared_ptr<Descriptor> descriptor);
  [[nodiscard]] Descriptor* find(int number) const;
  void close(int number);
  /// Something about a descriptor has changed: those who wait for it go on.
  void changed();
  /// Waits until `ready` or that moment.
  void wait(Nanos until, const std::function<bool()>& ready);
  /// How many a process has open.
  [[nodiscard]] std::size_t open_descriptors(const Process& process) const;

  std::shared_ptr<Connection> connect(const std::string& path);
  void send(const std::shared_ptr<Connection>& connection, std::string bytes);
  void hang_up(const std::shared_ptr<Connection>& connection);
  /// A signal for a process, if it still takes any.
  void signal(const Process& process, int number);

  // Faults.
  void disturb(const Disturbance& disturbance) { disturbances_.push_back(disturbance); }
  void stop(Server& server, Nanos until);
  void go_down(Server& server, RedisDouble::Data data);
  void step_clock(Server& server, Micros by);
  void set_drift(Server& server, std::int64_t ppm);
  void crash(Process& process);
  /// A command of a client that has no connection.
  Reply command(Server& server, const Words& words);

 private:
  struct Open {
    std::shared_ptr<Descriptor> descriptor;
    const Process* process = nullptr;
  };
  struct Waiter {
    Fiber* fiber;
    const std::function<bool()>* ready;
  };
  void receive(const std::shared_ptr<Connection>& connection, const std::string& bytes, bool cut);
  void deliver(const std::shared_ptr<Connection>& connection, std::string bytes);
  void flush(Server& server);
  void plan_tick(Server& server);
  [[nodiscard]] Nanos arrival(const Connection& connection, Nanos after);
  [[nodiscard]] bool strikes(Disturbance::Kind kind, const Connection& connection);
  void break_off(const std::shared_ptr<Connection>& connection);

  std::shared_ptr<ScriptEngine> engine_;
  Random random_;
  Scheduler scheduler_;
  std::vector<Micros> clocks_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<Open> descriptors_;
  std::vector<Waiter> waiting_;
  std::vector<Disturbance> disturbances_;
  Client nobody_;  // commands without a connection
  Observer* observer_ = nullptr;
  bool same_random_ = false;
};

}  // namespace sim
