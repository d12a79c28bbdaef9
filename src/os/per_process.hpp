// An object of each process, which a child after fork(2) does not take over.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace os {

/// A number that no process has from which this one descends by fork(2), nor a child of this one.
/// Their pids may be the same, in namespaces of their own. Any thread.
std::uint64_t process_number();

/// Any thread. A child makes an object of its own: its parent's may have a locked mutex, or a
/// thread that the child does not have, and is neither used nor freed there. The object that is
/// there at the end stays, unless somebody has taken it out.
template <class T>
class PerProcess {
 public:
  PerProcess() = default;
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  /// The process's own. `make` returns a std::unique_ptr<T>; threads that ask at once may call it
  /// several times.
  template <class Make>
  T& get(const Make& make) {
    auto* latest = latest_.load();
    while (!is_ours(latest)) {
      auto fresh = std::make_unique<Owned>(Owned{process_number(), make()});
      if (latest_.compare_exchange_strong(latest, fresh.get())) latest = fresh.release();
    }
    return *latest->object;
  }  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): latest_ has it

  /// Null if the process has none. Afterwards no other thread may use it.
  std::unique_ptr<T> take_out() {
    auto* latest = latest_.load();
    if (!is_ours(latest)) return nullptr;
    latest_ = nullptr;
    const std::unique_ptr<Owned> owned{latest};
    return std::move(owned->object);
  }

 private:
  struct Owned {
    std::uint64_t process;
    std::unique_ptr<T> object;
  };
  static bool is_ours(const Owned* owned) {
    return owned != nullptr && owned->process == process_number();
  }

  std::atomic<Owned*> latest_{nullptr};
};

}  // namespace os
