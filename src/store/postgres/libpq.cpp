#include "store/postgres/libpq.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>

namespace store::postgres {
namespace {

// The library of the headers that this was compiled with.
constexpr auto library_file = "libpq.so.5";

base::Result<LibPq, std::string> load() {
  void* handle = ::dlopen(library_file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return fmt::format("PostgreSQL needs {} (Debian's libpq5): {}", library_file, ::dlerror());
  }
  LibPq pq;
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    void* const address = ::dlsym(handle, name);
    if (address == nullptr) missing = name;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
  };
  find(pq.conninfo_parse, "PQconninfoParse");
  find(pq.conninfo_free, "PQconninfoFree");
  find(pq.conninfo, "PQconninfo");
  find(pq.ping, "PQpingParams");
  find(pq.free_memory, "PQfreemem");
  find(pq.connect_start, "PQconnectStartParams");
  find(pq.connect_poll, "PQconnectPoll");
  find(pq.needs_password, "PQconnectionNeedsPassword");
  find(pq.finish, "PQfinish");
  find(pq.get_cancel, "PQgetCancel");
  find(pq.cancel, "PQcancel");
  find(pq.free_cancel, "PQfreeCancel");
  find(pq.status, "PQstatus");
  find(pq.transaction_status, "PQtransactionStatus");
  find(pq.socket, "PQsocket");
  find(pq.error_message, "PQerrorMessage");
  find(pq.set_verbosity, "PQsetErrorVerbosity");
  find(pq.set_notice_processor, "PQsetNoticeProcessor");
  find(pq.set_nonblocking, "PQsetnonblocking");
  find(pq.backend_pid, "PQbackendPID");
  find(pq.server_version, "PQserverVersion");
  find(pq.host, "PQhost");
  find(pq.password, "PQpass");
  find(pq.user, "PQuser");
  find(pq.is_tls, "PQsslInUse");
  find(pq.send_query, "PQsendQuery");
  find(pq.send_query_params, "PQsendQueryParams");
  find(pq.flush, "PQflush");
  find(pq.consume_input, "PQconsumeInput");
  find(pq.is_busy, "PQisBusy");
  find(pq.get_result, "PQgetResult");
  find(pq.notifies, "PQnotifies");
  find(pq.result_status, "PQresultStatus");
  find(pq.error_field, "PQresultErrorField");
  find(pq.rows, "PQntuples");
  find(pq.columns, "PQnfields");
  find(pq.is_null, "PQgetisnull");
  find(pq.length, "PQgetlength");
  find(pq.value, "PQgetvalue");
  find(pq.clear, "PQclear");
  if (missing != nullptr) return fmt::format("{} has no {}", library_file, missing);
  return pq;
}

}  // namespace

const base::Result<LibPq, std::string>& libpq() {
  static const auto loaded = load();
  return loaded;
}

}  // namespace store::postgres
