// libpq, loaded when the first URL names a PostgreSQL server. If it were linked, every start of
// rlock would load its 22 libraries.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>

#include "base/result.hpp"

namespace store::postgres {

/// Every function of libpq that is used here; see libpq's documentation.
struct LibPq {
  decltype(&::PQconninfoParse) conninfo_parse = nullptr;
  decltype(&::PQconninfoFree) conninfo_free = nullptr;
  decltype(&::PQconninfo) conninfo = nullptr;
  decltype(&::PQpingParams) ping = nullptr;
  decltype(&::PQfreemem) free_memory = nullptr;
  decltype(&::PQconnectStartParams) connect_start = nullptr;
  decltype(&::PQconnectPoll) connect_poll = nullptr;
  decltype(&::PQconnectionNeedsPassword) needs_password = nullptr;
  decltype(&::PQfinish) finish = nullptr;
  decltype(&::PQgetCancel) get_cancel = nullptr;
  decltype(&::PQcancel) cancel = nullptr;
  decltype(&::PQfreeCancel) free_cancel = nullptr;
  decltype(&::PQstatus) status = nullptr;
  decltype(&::PQtransactionStatus) transaction_status = nullptr;
  decltype(&::PQsocket) socket = nullptr;
  decltype(&::PQerrorMessage) error_message = nullptr;
  decltype(&::PQsetErrorVerbosity) set_verbosity = nullptr;
  decltype(&::PQsetNoticeProcessor) set_notice_processor = nullptr;
  decltype(&::PQsetnonblocking) set_nonblocking = nullptr;
  decltype(&::PQbackendPID) backend_pid = nullptr;
  decltype(&::PQserverVersion) server_version = nullptr;
  decltype(&::PQhost) host = nullptr;
  decltype(&::PQpass) password = nullptr;
  decltype(&::PQuser) user = nullptr;
  decltype(&::PQsslInUse) is_tls = nullptr;
  decltype(&::PQsendQuery) send_query = nullptr;
  decltype(&::PQsendQueryParams) send_query_params = nullptr;
  decltype(&::PQflush) flush = nullptr;
  decltype(&::PQconsumeInput) consume_input = nullptr;
  decltype(&::PQisBusy) is_busy = nullptr;
  decltype(&::PQgetResult) get_result = nullptr;
  decltype(&::PQnotifies) notifies = nullptr;
  decltype(&::PQresultStatus) result_status = nullptr;
  decltype(&::PQresultErrorField) error_field = nullptr;
  decltype(&::PQntuples) rows = nullptr;
  decltype(&::PQnfields) columns = nullptr;
  decltype(&::PQgetisnull) is_null = nullptr;
  decltype(&::PQgetlength) length = nullptr;
  decltype(&::PQgetvalue) value = nullptr;
  decltype(&::PQclear) clear = nullptr;
};

/// Loaded once and kept, or the reason why not. Any thread. A program that loads no libraries
/// (os/libraries.hpp) has none.
const base::Result<LibPq, std::string>& libpq();

/// The connection options in a URL.
struct FreeOptions {
  const LibPq* library;
  void operator()(PQconninfoOption* options) const { library->conninfo_free(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;
/// Null if libpq rejects the URL. Its reason is dropped because it would show a password.
inline Options options_in(const LibPq& library, const base::Secret& url) {
  char* why = nullptr;
  Options options{library.conninfo_parse(url.reveal().c_str(), &why), {&library}};
  library.free_memory(why);
  return options;
}

}  // namespace store::postgres
