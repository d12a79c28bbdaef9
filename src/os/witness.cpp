#include "os/witness.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/fields.hpp"
#include "os/file.hpp"
#include "os/process_name.hpp"
#include "os/signals.hpp"

namespace os {
namespace {

constexpr const char* witness_name = "witness";

/// By /proc, where close_range(2) is refused.
bool close_each_but(int one, int other) {
  std::vector<int> others;
  const auto read = for_each_name("/proc/self/fd", [&](std::string_view name) {
    const auto number = base::number_in<int>(name);
    if (number && *number != one && *number != other) others.push_back(*number);
  });
  for (const int each : others) ::close(each);  // the look has closed its own
  return bool{read};
}

/// Closes all descriptors but these two: processes that wait for rlock to close one must not wait
/// for us.
bool close_all_but(int one, int other) {
  const auto low = static_cast<unsigned>(std::min(one, other));
  const auto high = static_cast<unsigned>(std::max(one, other));
  const auto close_between = [](unsigned first, unsigned last) {
    return first > last || ::close_range(first, last, 0) == 0;
  };
  const bool closed = (low == 0 || close_between(0, low - 1)) && close_between(low + 1, high - 1) &&
                      close_between(high + 1, ~0U);
  return closed || close_each_but(one, other);
}

void answer(GuardianLine& line, Signals& signals) {
  for (;;) {
    const auto message = line.take<Order>();
    if (std::holds_alternative<HungUp>(message)) ::_exit(0);
    const auto* order = std::get_if<Order>(&message);
    if (order == nullptr) return;
    report_signals(line, signals);
    line.send(Report{Report::Kind::answer, 0, order->signal});
  }
}

/// Runs in the new process, to its end.
[[noreturn]] void bear_witness(GuardianLine line, Signals& signals, pid_t rlock) {
  try {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != rlock) ::_exit(0);
    block_all_signals();
    ::prctl(PR_SET_NAME, witness_name);
    change_command_line(witness_name);
    if (!close_all_but(line.descriptor(), signals.descriptor())) ::_exit(0);
    std::array<pollfd, 2> polled{pollfd{line.descriptor(), POLLIN, 0},
                                 pollfd{signals.descriptor(), POLLIN, 0}};
    for (;;) {
      (void)::poll(polled.data(), polled.size(), -1);
      report_signals(line, signals);
      answer(line, signals);
    }
  } catch (const std::exception&) {
  }
  ::_exit(0);
}

}  // namespace

void Witness::start(Signals& signals) {
  if (pid_ != 0) return;
  GuardianLine its;
  try {
    GuardianLine::connect(line_, its);
  } catch (const std::system_error&) {
    return;
  }
  const pid_t self = ::getpid();
  // A fork whose end sends no SIGCHLD: waiting for any child of rlock does not wait for it.
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  if (pid == 0) {
    line_.close();
    bear_witness(std::move(its), signals, self);
  }
  pid_ = std::max(pid, 0);
}

void Witness::dismiss() {
  if (pid_ != 0 && !std::exchange(hung_up_, true)) (void)::kill(pid_, SIGKILL);
}

Witness::~Witness() {
  dismiss();
  if (pid_ == 0) return;
  while (::waitpid(pid_, nullptr, __WALL) < 0 && errno == EINTR) {
  }
}

void Witness::ask(int question) {
  if (is_present()) (void)line_.send(Order{Order::Kind::report_signals, question, {}});
}

std::optional<Report> Witness::take() {
  if (!is_present()) return std::nullopt;
  const auto message = line_.take<Report>();
  if (std::holds_alternative<HungUp>(message)) dismiss();
  if (const auto* report = std::get_if<Report>(&message)) return *report;
  return std::nullopt;
}

}  // namespace os
