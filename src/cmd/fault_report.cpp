#include "cmd/fault_report.hpp"

#include "base/log.hpp"
#include "cmd/exit_code.hpp"

namespace cmd {

int report_fault(const ServerChoice& server, const store::Fault& fault) {
  using Kind = store::Fault::Kind;
  const bool answered = fault.kind != Kind::unreachable && fault.kind != Kind::silent;
  base::log::error("{} {}: {}", answered ? "cannot use" : "cannot reach", server.shown, fault.why);
  return fault.kind == Kind::denied ? ExitCode::denied : ExitCode::unreachable;
}

}  // namespace cmd
