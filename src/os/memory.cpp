#include "os/memory.hpp"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace os {
namespace {

// As deep as our calls go. What of it is not mapped belongs to nobody: the kernel keeps 1 MiB below
// the stack of a main thread free (stack_guard_gap).
constexpr std::uintptr_t deepest_call = 256 * 1024;

std::uintptr_t page_size() {
  return static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
}

void shed(std::uintptr_t from, std::uintptr_t to) {
  // That a part of it is not mapped is no failure, and any other failure costs memory only.
  if (from < to) (void)::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

/// Whether the loader has written into what else is never written to (DT_TEXTREL): an old library.
bool is_patched(const dl_phdr_info& loaded) {
  for (int i = 0; i < loaded.dlpi_phnum; ++i) {
    if (loaded.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const std::uintptr_t table = loaded.dlpi_addr + loaded.dlpi_phdr[i].p_vaddr;
    for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(table); entry->d_tag != DT_NULL;
         ++entry) {
      const bool flagged = entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0;
      if (entry->d_tag == DT_TEXTREL || flagged) return true;
    }
  }
  return false;
}

/// Of the program and of each library what is mapped from its file and was never written to.
int shed_program(dl_phdr_info* loaded, std::size_t, void*) {
  if (is_patched(*loaded)) return 0;
  const std::uintptr_t page = page_size();
  for (int i = 0; i < loaded->dlpi_phnum; ++i) {
    const auto& segment = loaded->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = loaded->dlpi_addr + segment.p_vaddr;
    shed(begin & ~(page - 1), (begin + segment.p_filesz) & ~(page - 1));
  }
  return 0;
}

[[gnu::noinline]] void shed_stack() {
  const std::uintptr_t page = page_size();
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) & ~(page - 1);
  shed(here - deepest_call, here - page);
}

}  // namespace

void shed_memory() {
  shed_stack();
  ::dl_iterate_phdr(shed_program, nullptr);
}

}  // namespace os
