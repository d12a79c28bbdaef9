#include "fibers.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#ifndef __x86_64__
#error "the switch between two fibers is written for x86_64 only"
#endif

// Saves what a call must keep (System V ABI) on the stack that is left, and takes it from the one
// that is entered. swapcontext(3) does the same with two system calls.
asm(R"(
.text
.type sim_switch, @function
sim_switch:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size sim_switch, .-sim_switch
)");
extern "C" void sim_switch(void** leaving, void* entered);

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
// The memory of crashed clients is never freed.
extern "C" const char* __asan_default_options() {  // NOLINT: the sanitizer's name
  return "detect_leaks=0";
}
#endif

namespace sim {
namespace {

// The address sanitizer follows a fiber that is told to it: before a switch where it goes, behind
// it that it is there.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t stack_size = 1024 * 1024;
void leave_for(void** leaving, const void* bottom, std::size_t size) {
  __sanitizer_start_switch_fiber(leaving, bottom, size);
}
void arrived(void* coming, const void** bottom, std::size_t* size) {
  __sanitizer_finish_switch_fiber(coming, bottom, size);
}
/// The frames that a killed fiber left behind.
void clean(char* stack) {
  ASAN_UNPOISON_MEMORY_REGION(stack, stack_size);
}
#else
constexpr std::size_t stack_size = 256 * 1024;
void leave_for(void**, const void*, std::size_t) {}
void arrived(void*, const void**, std::size_t*) {}
void clean(char*) {}
#endif

constexpr std::size_t saved_words = 6;
// A hundred times as many as a schedule takes that takes many.
constexpr std::uint64_t most_steps = 10'000'000;
Scheduler* current = nullptr;  // for a fiber that begins, which can be given nothing

/// Stacks that were used before need no fresh pages.
std::vector<std::unique_ptr<char[]>>& spare_stacks() {
  static std::vector<std::unique_ptr<char[]>> spare;
  return spare;
}

std::unique_ptr<char[]> take_stack() {
  auto& spare = spare_stacks();
  if (spare.empty()) return std::unique_ptr<char[]>(new char[stack_size]);
  auto stack = std::move(spare.back());
  spare.pop_back();
  clean(stack.get());
  return stack;
}

/// A fiber may wait inside a catch block: the exceptions in hand are its own.
void swap_exceptions(std::uint64_t* leaving, const std::uint64_t* coming) {
  void* globals = abi::__cxa_get_globals();
  std::memcpy(leaving, globals, 2 * sizeof *leaving);
  std::memcpy(globals, coming, 2 * sizeof *coming);
}

}  // namespace

Scheduler::~Scheduler() {
  for (auto& fiber : fibers_) {
    if (fiber->stack_) spare_stacks().push_back(std::move(fiber->stack_));
  }
}

void Scheduler::enter() {
  Scheduler* self = current;
  Fiber& fiber = *self->running_;
  arrived(nullptr, &self->main_bottom_, &self->main_size_);
  try {
    fiber.body_();
  } catch (...) {
    self->failure_ = std::current_exception();
  }
  fiber.over_ = true;
  fiber.body_ = nullptr;
  void* nowhere = nullptr;
  leave_for(nullptr, self->main_bottom_, self->main_size_);
  sim_switch(&nowhere, self->main_stack_pointer_);
}

Process& Scheduler::new_process() {
  Process& process = *processes_.emplace_back(std::make_unique<Process>());
  process.number = static_cast<int>(processes_.size());
  return process;
}

Fiber& Scheduler::spawn(Process& process, std::function<void()> body) {
  Fiber& fiber = *fibers_.emplace_back(std::make_unique<Fiber>());
  fiber.process_ = &process;
  fiber.body_ = std::move(body);
  fiber.stack_ = take_stack();
  // At its top: the address to return to, and what a function finds above it, aligned to 16.
  const auto bottom = reinterpret_cast<std::uintptr_t>(fiber.stack_.get());
  // Not all at the same place of a page, or they would drive each other out of the cache.
  const auto shift = bottom / stack_size % 32 * 448;
  const auto top = (bottom + stack_size - shift) & ~15UL;
  auto* words = reinterpret_cast<std::uint64_t*>(top) - 2;
  words[0] = reinterpret_cast<std::uint64_t>(&Scheduler::enter);
  words[1] = 0;
  words -= saved_words;
  std::fill_n(words, saved_words, 0);
  fiber.stack_pointer_ = words;
  wake(fiber);
  return fiber;
}

void Scheduler::at(Nanos when, std::function<void()> act) {
  events_.push_back({std::max(when, now_), order_++, std::move(act)});
  std::push_heap(events_.begin(), events_.end(), std::greater<>{});
}

void Scheduler::wake(Fiber& fiber) {
  if (fiber.ready_ || fiber.over_ || &fiber == running_) return;
  fiber.ready_ = true;
  ready_.push_back(&fiber);
}

void Scheduler::park(Nanos until) {
  Fiber& fiber = *running_;
  const auto times = ++fiber.parked_;
  if (until < std::numeric_limits<Nanos>::max()) {
    at(until, [this, &fiber, times] {
      if (fiber.parked_ == times) wake(fiber);
    });
  }
  leave_for(&fiber.marks_, main_bottom_, main_size_);
  sim_switch(&fiber.stack_pointer_, main_stack_pointer_);
  arrived(fiber.marks_, nullptr, nullptr);
}

void Scheduler::resume(Fiber& fiber) {
  if (fiber.over_) return;
  fiber.ready_ = false;
  if (now_ < fiber.process_->stopped_until) {
    at(fiber.process_->stopped_until, [this, &fiber] { wake(fiber); });
    return;
  }
  running_ = &fiber;
  current = this;
  swap_exceptions(main_exceptions_, fiber.exceptions_);
  leave_for(&main_marks_, fiber.stack_.get(), stack_size);
  sim_switch(&main_stack_pointer_, fiber.stack_pointer_);
  arrived(main_marks_, nullptr, nullptr);
  swap_exceptions(fiber.exceptions_, main_exceptions_);
  running_ = nullptr;
  if (fiber.over_) end(fiber);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Scheduler::end(Fiber& fiber) {
  fiber.over_ = true;
  ++over_;
  spare_stacks().push_back(std::move(fiber.stack_));
  if (when_over_) when_over_();
}

void Scheduler::kill(Process& process) {
  process.dead = true;
  for (auto& fiber : fibers_) {
    if (fiber->process_ == &process && !fiber->over_) end(*fiber);
  }
}

void Scheduler::stop(Process& process, Nanos until) {
  const Nanos before = std::max(process.stopped_until, now_);
  if (until <= before) return;
  process.stopped_until = until;
}

void Scheduler::happen() {
  std::pop_heap(events_.begin(), events_.end(), std::greater<>{});
  const Event event = std::move(events_.back());
  events_.pop_back();
  now_ = event.when;
  event.act();
}

void Scheduler::run(Nanos horizon) {
  while (over_ < fibers_.size()) {
    if (++steps_ > most_steps) throw std::runtime_error{"there is no end to it"};
    if (!ready_.empty()) {
      Fiber& next = *ready_.front();
      ready_.pop_front();
      resume(next);
      continue;
    }
    if (events_.empty()) throw std::runtime_error{"everybody waits, and nothing can happen"};
    if (now_ > horizon) throw std::runtime_error{"somebody still waits, long after all jobs"};
    happen();
  }
}

void Scheduler::pass(Nanos until) {
  while (!events_.empty() && events_.front().when <= until) happen();
  now_ = until;
}

}  // namespace sim
