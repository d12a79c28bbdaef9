// PostgreSQL's errors, by their codes, and URLs as libpq reads them.
#include <doctest/doctest.h>

#include "store/postgres/connection.hpp"
#include "store/server_url.hpp"

namespace unit::postgres_errors {
namespace {

using namespace store;
using Kind = Fault::Kind;

}  // namespace

TEST_CASE("the code of an error says what may be done about it") {
  struct Row {
    const char* sqlstate;
    Kind kind;
    const char* what;
  };
  for (const Row& row : {
           Row{"53300", Kind::unavailable, "too many connections"},
           Row{"53100", Kind::unavailable, "disk full"},
           Row{"54000", Kind::unavailable, "too many notifications in the NOTIFY queue"},
           Row{"25006", Kind::unavailable, "read-only: a standby"},
           Row{"55P03", Kind::unavailable, "lock not available"},
           Row{"57014", Kind::unavailable, "cancelled, by statement_timeout"},
           Row{"40001", Kind::unavailable, "not serializable"},
           Row{"58030", Kind::unavailable, "I/O error"},
           Row{"40003", Kind::silent, "nobody knows whether it was done"},
           Row{"57P01", Kind::silent, "ended by the administrator, perhaps after the commit"},
           Row{"57P02", Kind::silent, "another process crashed"},
           Row{"57P03", Kind::silent, "starting up, where it lets nobody in"},
           Row{"08006", Kind::silent, "connection failure"},
           Row{"28P01", Kind::denied, "wrong password"},
           Row{"28000", Kind::denied, "pg_hba.conf"},
           Row{"42501", Kind::denied, "no right to the table"},
           Row{"3D000", Kind::misconfigured, "no such database"},
           Row{"42P01", Kind::misconfigured, "no such table"},
           Row{"3F000", Kind::misconfigured, "no such schema"},
           Row{"22021", Kind::unusable, "not the encoding"},
           Row{"XX000", Kind::unusable, "internal error"},
           Row{"", Kind::unusable, "no code"},
           Row{"5", Kind::unusable, "no code"},
       }) {
    CAPTURE(row.sqlstate);
    CAPTURE(row.what);
    CHECK(postgres::kind_of(row.sqlstate) == row.kind);
  }
}

TEST_CASE("passwords in the options of a URL are no more shown than those before its host") {
  const ServerUrl url{
      "postgresql://app:one@h:5433/db?sslmode=verify-full&password=two&user=u"
      "&sslpassword=three&host=/run/pg"};
  CHECK(url.without_secret() == "postgresql://h:5433/db?sslmode=verify-full&host=/run/pg");
  const std::string word = "-Spostgresql://h/db?password=two&sslpassword=three";
  const auto secrets = secrets_in(word);
  REQUIRE(secrets.size() == 2);
  CHECK(word.substr(secrets[0].begin, secrets[0].end - secrets[0].begin) == "two");
  CHECK(word.substr(secrets[1].begin, secrets[1].end - secrets[1].begin) == "three");
}

TEST_CASE(
    "a password in a URL is noticed; a URL that libpq refuses is refused without its password") {
  const auto parsed = [](std::string_view text) { return postgres::database_in(*cut_url(text)); };
  REQUIRE(parsed("postgresql://h/db"));
  CHECK_FALSE(parsed("postgresql://h/db")->has_password);
  CHECK(parsed("postgres://app:secret@h1,h2:5433/db")->has_password);
  CHECK(parsed("postgresql:///db?host=/run/pg&password=x")->has_password);
  for (const char* bad : {"postgresql://h/db?nosuch=secret", "postgresql://app:secret@[::1/db",
                          "postgresql:/h", "postgresql://app:sec%ret@h/db"}) {
    CAPTURE(bad);
    const auto refused = parsed(bad);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().why.find("sec") == std::string::npos);
  }
}

}  // namespace unit::postgres_errors
