// malloc(3) for one thread, in the place of the C library's: a fifth of what a schedule costs is
// memory that is asked for and given back at once. Freed memory is kept for the next request of
// that size, and none goes back to the kernel. Not where a sanitizer has its own.
#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

// Before each piece; as long as what every piece is aligned to.
struct alignas(16) Header {
  std::size_t kind;
};
struct Free {
  Free* next;
};

constexpr std::size_t step = 16;
constexpr std::size_t small = 1024;                // up to here each length by its own
constexpr std::size_t small_kinds = small / step;  // beyond, a power of two
constexpr std::size_t block = std::size_t{1} << 22U;

Free* given_back[small_kinds + 65];
char* fresh = nullptr;
std::size_t fresh_size = 0;

std::size_t kind_of(std::size_t size) {
  if (size <= small) return size == 0 ? 1 : (size + step - 1) / step;
  return small_kinds + static_cast<std::size_t>(std::bit_width(size - 1));
}

std::size_t size_of(std::size_t kind) {
  return kind <= small_kinds ? kind * step : std::size_t{1} << (kind - small_kinds);
}

Header* header_of(void* piece) {
  return static_cast<Header*>(piece) - 1;
}

void* from_kernel(std::size_t kind, std::size_t alignment) {
  const std::size_t size = size_of(kind);
  auto at = reinterpret_cast<std::uintptr_t>(fresh) + sizeof(Header);
  std::size_t gap = (alignment - at % alignment) % alignment;
  if (sizeof(Header) + gap + size > fresh_size) {
    const std::size_t wanted = sizeof(Header) + alignment + size;
    const std::size_t length = wanted > block / 4 ? (wanted + 4095) / 4096 * 4096 : block;
    void* got = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) {
      errno = ENOMEM;
      return nullptr;
    }
    fresh = static_cast<char*>(got);
    fresh_size = length;
    at = reinterpret_cast<std::uintptr_t>(fresh) + sizeof(Header);
    gap = (alignment - at % alignment) % alignment;
  }
  char* piece = fresh + sizeof(Header) + gap;
  header_of(piece)->kind = kind;
  fresh = piece + size;
  fresh_size -= sizeof(Header) + gap + size;
  return piece;
}

}  // namespace

// NOLINTBEGIN: these names are the C library's
extern "C" {

void* malloc(std::size_t size) {
  if (size > PTRDIFF_MAX / 2) {
    errno = ENOMEM;
    return nullptr;
  }
  const std::size_t kind = kind_of(size);
  Free* piece = given_back[kind];
  if (piece == nullptr) return from_kernel(kind, step);
  given_back[kind] = piece->next;
  return piece;
}

void free(void* piece) {
  if (piece == nullptr) return;
  const std::size_t kind = header_of(piece)->kind;
  auto* first = static_cast<Free*>(piece);
  first->next = given_back[kind];
  given_back[kind] = first;
}

void* calloc(std::size_t count, std::size_t size) {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, size, &all)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* piece = malloc(all);
  if (piece != nullptr) std::memset(piece, 0, all);
  return piece;
}

void* realloc(void* piece, std::size_t size) {
  if (piece == nullptr) return malloc(size);
  const std::size_t had = size_of(header_of(piece)->kind);
  if (size <= had && size * 4 > had) return piece;
  void* other = malloc(size);
  if (other == nullptr) return nullptr;
  std::memcpy(other, piece, size < had ? size : had);
  free(piece);
  return other;
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return alignment <= step ? malloc(size) : from_kernel(kind_of(size), alignment);
}

void* memalign(std::size_t alignment, std::size_t size) {
  return aligned_alloc(alignment, size);
}

int posix_memalign(void** piece, std::size_t alignment, std::size_t size) {
  *piece = aligned_alloc(alignment, size);
  return *piece == nullptr ? ENOMEM : 0;
}

std::size_t malloc_usable_size(void* piece) {
  return piece == nullptr ? 0 : size_of(header_of(piece)->kind);
}

}  // extern "C"
// NOLINTEND
