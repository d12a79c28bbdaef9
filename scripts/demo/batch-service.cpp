// A batch service on several hosts, of which one works at a time.
//
// usage: batch-service SERVER DATABASE ROUNDS
//
// One thread fetches pending tasks, another does them; the library refreshes the lock meanwhile.
// Each task is marked with the fence of the lock, and a mark with a lower fence than the table has
// seen changes nothing: a service that was paused beyond its lease does no harm when it wakes up.
//
//   CREATE TABLE tasks (id INTEGER PRIMARY KEY, state TEXT NOT NULL, runs INTEGER NOT NULL DEFAULT
//   0,
//                       fence INTEGER NOT NULL DEFAULT 0);
//   CREATE TABLE seen (fence INTEGER NOT NULL);  -- one row
#include <sqlite3.h>
#include <rlock/rlock.hpp>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;

class Database {
 public:
  explicit Database(const std::string& file) {
    if (sqlite3_open(file.c_str(), &handle_) != SQLITE_OK) fail();
    sqlite3_busy_timeout(handle_, 5'000);
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// The first column of the first row; nothing: there is no row.
  std::optional<std::int64_t> ask(const char* statement, std::int64_t one = 0,
                                  std::int64_t other = 0) {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(handle_, statement, -1, &prepared, nullptr) != SQLITE_OK) fail();
    sqlite3_bind_int64(prepared, 1, one);
    sqlite3_bind_int64(prepared, 2, other);
    const int code = sqlite3_step(prepared);
    std::optional<std::int64_t> answer;
    if (code == SQLITE_ROW) answer = sqlite3_column_int64(prepared, 0);
    sqlite3_finalize(prepared);
    if (code != SQLITE_ROW && code != SQLITE_DONE) fail();
    return answer;
  }

 private:
  [[noreturn]] void fail() { throw std::runtime_error{sqlite3_errmsg(handle_)}; }

  sqlite3* handle_ = nullptr;
};

/// Tasks between the thread that fetches them and the one that does them.
class Batch {
 public:
  void add(std::int64_t task) {
    const std::lock_guard guard{mutex_};
    tasks_.push_back(task);
    changed_.notify_one();
  }
  void end() {
    const std::lock_guard guard{mutex_};
    ended_ = true;
    changed_.notify_one();
  }
  /// Nothing: there is no other, or the lock is lost.
  std::optional<std::int64_t> take(const std::stop_token& lost) {
    std::unique_lock guard{mutex_};
    changed_.wait(guard, lost, [&] { return ended_ || !tasks_.empty(); });
    if (lost.stop_requested() || tasks_.empty()) return std::nullopt;
    const auto task = tasks_.front();
    tasks_.pop_front();
    return task;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::int64_t> tasks_;
  bool ended_ = false;
};

/// The fence and the mark are one transaction: no pause fits between them.
bool mark(Database& database, std::int64_t task, std::uint64_t fence) {
  const auto own = static_cast<std::int64_t>(fence);
  database.ask("BEGIN IMMEDIATE");
  database.ask("UPDATE seen SET fence = ?1 WHERE fence < ?1", own);
  const auto allowed = database.ask("SELECT 1 FROM seen WHERE fence = ?1", own);
  if (allowed) {
    database.ask("UPDATE tasks SET state = 'done', runs = runs + 1, fence = ?1 WHERE id = ?2", own,
                 task);
  }
  database.ask("COMMIT");
  return allowed.has_value();
}

void do_batch(const rlock::Lock& lock, const std::string& file) {
  const auto lost = lock.lost();
  Batch batch;
  std::jthread fetcher{[&] {
    Database database{file};
    std::int64_t last = 0;
    for (int i = 0; i < 10 && !lost.stop_requested(); ++i) {
      const auto task = database.ask(
          "SELECT id FROM tasks WHERE state = 'pending' AND id > ?1 ORDER BY id LIMIT 1", last);
      if (!task) break;
      last = *task;
      batch.add(*task);
    }
    batch.end();
  }};
  Database database{file};
  while (const auto task = batch.take(lost)) {
    std::this_thread::sleep_for(20ms);  // the work
    if (!mark(database, *task, lock.fence())) {
      std::cout << "refused: a later holder has written" << std::endl;
      return;
    }
    std::cout << "did " << *task << " under fence " << lock.fence() << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return EXIT_FAILURE;
  const rlock::Server server{argv[1], {.label = "batch"}};
  for (int round = std::stoi(argv[3]); round > 0; --round) {
    auto lock = rlock::acquire(server, "batch:tasks", {.ttl = 2s, .wait = 1min});
    if (!lock) {
      std::cerr << "batch-service: " << lock.failure().text << '\n';
      return EXIT_FAILURE;
    }
    do_batch(*lock, argv[2]);
    if (const auto loss = lock->loss()) std::cout << loss->text << std::endl;
  }
}
