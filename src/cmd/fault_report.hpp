// What a command says and exits with when the server did not do as asked.
#pragma once

#include "cmd/server_options.hpp"
#include "store/lock_store.hpp"

namespace cmd {

int report_fault(const ServerChoice& server, const store::Fault& fault);

}  // namespace cmd
