#include "os/per_process.hpp"

#include <sys/mman.h>

#include "os/host.hpp"

namespace os {
namespace {

using Number = std::atomic<std::uint64_t>;

// In a page that the kernel clears in each child; or, if it does not know how, the one that says
// so.
std::atomic<Number*> own_number{nullptr};
Number no_such_page{0};
Number last_number{0};  // of this process and those that it descends from

Number* make_page() {
  void* const page =
      ::mmap(nullptr, sizeof(Number), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return &no_such_page;
  if (::madvise(page, sizeof(Number), MADV_WIPEONFORK) != 0) {
    (void)::munmap(page, sizeof(Number));
    return &no_such_page;
  }
  return new (page) Number{0};
}

}  // namespace

std::uint64_t process_number() {
  Number* own = own_number.load();
  if (own == nullptr) {
    Number* const made = make_page();
    if (own_number.compare_exchange_strong(own, made)) {
      own = made;
    } else if (made != &no_such_page) {
      (void)::munmap(made, sizeof(Number));
    }
  }
  if (own == &no_such_page) return static_cast<std::uint64_t>(process_id());
  std::uint64_t number = own->load();
  if (number != 0) return number;
  const auto next = ++last_number;
  return own->compare_exchange_strong(number, next) ? next : number;
}

}  // namespace os
