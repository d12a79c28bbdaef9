// A PostgreSQL database, as named by a URL.
#pragma once

#include "base/result.hpp"
#include "store/url.hpp"

namespace store {

/// postgresql://[user[:password]@][host[:port][,...]][/database][?option=value&...], as libpq reads
/// it. Missing parts come from libpq's environment (PGHOST, PGSERVICE, .pgpass).
struct PostgreSql {
  base::Secret url;
  bool has_password = false;  // in the URL
  base::Secret password{};    // used if the URL has none; empty: libpq looks for one
};

namespace postgres {

/// Parses a postgresql: URL. A program that loads no libraries accepts any.
base::Result<PostgreSql, BadUrl> database_in(const Url& url);

}  // namespace postgres
}  // namespace store
