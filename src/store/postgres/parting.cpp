#include "store/postgres/parting.hpp"

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <utility>

#include "os/mailbox.hpp"
#include "os/poll.hpp"
#include "os/thread.hpp"

namespace store::postgres {
namespace {

// A reachable server needs less. Without this pause the program might end before it has asked.
constexpr base::Millis usual{100};
// The limit of hung threads in PQcancel(): a server that accepts no connection cancels nothing.
constexpr int most_hanging = 4;
std::atomic<int> hanging{0};

struct FreeCancel {
  const LibPq* library;
  void operator()(PGcancel* cancel) const { library->free_cancel(cancel); }
};
using Cancel = std::unique_ptr<PGcancel, FreeCancel>;

using Done = os::Mailbox<base::Done>;

/// PQcancel() blocks, so a thread calls it. The thread also ends the connection: a pooler forgets
/// whose statement it was once the client has gone. Null if there is no thread.
std::shared_ptr<Done> cancel_in_thread(const LibPq& library, PGconn* connection, Cancel cancel) {
  auto done = std::make_shared<Done>();
  ++hanging;
  auto thread = os::Thread::start([&library, connection, asked = cancel.get(), done] {
    std::array<char, 256> why{};
    (void)library.cancel(asked, why.data(), static_cast<int>(why.size()));
    library.free_cancel(asked);
    library.finish(connection);
    --hanging;
    done->post({});
  });
  if (!thread) {
    --hanging;
    return nullptr;
  }
  (void)cancel.release();
  thread->detach();
  return done;
}

}  // namespace

void part(const LibPq& library, PGconn* connection) noexcept {
  const bool is_busy = library.transaction_status(connection) == PQTRANS_ACTIVE;
  Cancel cancel{is_busy ? library.get_cancel(connection) : nullptr, {&library}};
  std::shared_ptr<Done> done;
  try {
    if (cancel && hanging < most_hanging) {
      done = cancel_in_thread(library, connection, std::move(cancel));
    }
    if (done) {
      (void)os::wait_for(done->descriptor(), os::Want::read,
                         {base::Deadline::after(base::now(), usual)});
    }
  } catch (const std::exception&) {  // no descriptor or memory: nothing is cancelled
  }
  if (!done) library.finish(connection);
}

}  // namespace store::postgres
