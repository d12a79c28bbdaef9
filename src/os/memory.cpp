#include "os/memory.hpp"

#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace os {
namespace {

constexpr std::size_t kib = 1024;
// A run takes some 16 KiB.
constexpr std::size_t needed_stack = 64 * kib;

// The loader reports the addresses of a loaded file's tables as numbers.
template <class Table>
Table* at(std::uintptr_t address) {
  return reinterpret_cast<Table*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// Whether the loader has patched pages that nothing else writes to (DT_TEXTREL): an old library.
bool is_patched(const dl_phdr_info& loaded) {
  for (int i = 0; i < loaded.dlpi_phnum; ++i) {
    if (loaded.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry = at<const ElfW(Dyn)>(loaded.dlpi_addr + loaded.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const auto value = entry->d_un.d_val;  // NOLINT(cppcoreguidelines-pro-type-union-access)
      if (entry->d_tag == DT_TEXTREL) return true;
      if (entry->d_tag == DT_FLAGS && (value & DF_TEXTREL) != 0) return true;
    }
  }
  return false;
}

/// Drops the pages of the program and each library that are the file's and were never written to.
int shed_program(dl_phdr_info* loaded, std::size_t /*size*/, void* /*unused*/) {
  if (is_patched(*loaded)) return 0;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < loaded->dlpi_phnum; ++i) {
    const auto& segment = loaded->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = loaded->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t first = begin & ~(page - 1);
    const std::uintptr_t last = (begin + segment.p_filesz) & ~(page - 1);
    // A failure costs only memory.
    if (first < last) (void)::madvise(at<void>(first), last - first, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

std::optional<std::string> missing_stack() {
  rlimit limit{};
  const auto top = ::getauxval(AT_EXECFN);  // the last string on the stack
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || top == 0) {
    return std::nullopt;
  }
  // The limit includes the arguments and the environment. (Under a sanitizer a local variable may
  // be elsewhere.)
  const auto needed =
      top - reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + needed_stack;
  if (needed <= limit.rlim_cur) return std::nullopt;
  return "the stack may not grow beyond " + std::to_string(limit.rlim_cur / kib) + " KiB, and " +
         std::to_string(needed / kib + 1) + " are needed: see ulimit -s";
}

void shed_memory() {
  ::dl_iterate_phdr(shed_program, nullptr);
}

}  // namespace os
