// A PostgreSQL database, as a URL names it.
#pragma once

#include "base/result.hpp"
#include "store/url.hpp"

namespace store {

/// postgresql://[user[:password]@][host[:port][,...]][/database][?option=value&...], as libpq reads
/// it; what is not in it comes from libpq's environment (PGHOST, PGSERVICE, .pgpass).
struct PostgreSql {
  base::Secret url;
  bool has_password = false;  // in the URL
  base::Secret password{};    // that counts where the URL has none; empty: libpq looks for one
};

namespace postgres {

/// What a postgresql: URL names. A program that loads no libraries takes any.
base::Result<PostgreSql, BadUrl> database_in(const Url& url);

}  // namespace postgres
}  // namespace store
