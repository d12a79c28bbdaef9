// The reader of answers of HTTP/1.1.
#include <doctest/doctest.h>

#include "store/etcd/gateway.hpp"
#include "store/etcd/http.hpp"

namespace unit::etcd_http {

namespace {

using store::etcd::AnswerReader;

constexpr std::size_t most = 1'000;

/// The whole text in pieces of so many bytes: "status body", with a '+' if the connection stays, or
/// what is wrong; "…" if the answer is incomplete.
std::string read(const std::string& text, std::size_t piece = std::string::npos,
                 bool ends = false) {
  AnswerReader reader{most};
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    bytes += text.substr(at, piece);
    if (auto outcome = reader.read(bytes); !outcome) return outcome.error();
    if (piece == std::string::npos) break;
  }
  if (ends) reader.end();
  if (!reader.is_complete()) return "…";
  return fmt::format("{}{} {}", reader.status(), reader.keeps_connection() ? "+" : "",
                     reader.take_body());
}

std::string with(const std::string& headers, const std::string& body = "") {
  return "HTTP/1.1 200 OK\r\n" + headers + "\r\n" + body;
}

}  // namespace

TEST_CASE("an answer with a length, in whatever pieces it comes") {
  const auto text = with("Content-Type: application/json\r\nContent-Length: 7\r\n", "{\"a\":1}");
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, text.size()}) {
    CHECK(read(text, piece) == "200+ {\"a\":1}");
  }
  CHECK(read(text.substr(0, text.size() - 1)) == "…");
  CHECK(read(with("content-length:0\r\n")) == "200+ ");
  CHECK(read(with("Content-Length: 2\r\nConnection: close\r\n", "ab")) == "200 ab");
  CHECK(read("HTTP/1.0 503 No\nContent-Length: 2\n\nab") == "503 ab");
}

TEST_CASE("an answer in chunks") {
  const auto head = with("Transfer-Encoding: chunked\r\n");
  const auto text = head + "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nGrpc-Trailer: x\r\n\r\n";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, text.size()}) {
    CHECK(read(text, piece) == "200+ abc0123456789");
  }
  CHECK(read(head + "3\r\nab") == "…");
  CHECK(read(head + "3\r\nabc\r\n") == "…");
  CHECK(read(head + "3\r\nabcd\r\n") == "a chunk that is longer than it says");
  CHECK(read(head + "x\r\n") == "no length of a chunk");
  CHECK(read(head + "\r\n") == "no length of a chunk");
  CHECK(read(head + "-1\r\n") == "no length of a chunk");
  CHECK(read(head + "fffffffffffffffff\r\n") == "no length of a chunk");
}

TEST_CASE("the bytes of the next answer stay") {
  AnswerReader reader{most};
  std::string bytes = with("Content-Length: 1\r\n", "a") + "HTTP/1.1 4";
  CHECK(static_cast<bool>(reader.read(bytes)));
  CHECK(reader.is_complete());
  CHECK(bytes == "HTTP/1.1 4");
}

TEST_CASE("an answer without a length ends with its connection") {
  CHECK(read(with("", "abc"), std::string::npos, true) == "200 abc");
  CHECK(read(with("", "abc")) == "…");
  CHECK(read(with("Content-Length: 4\r\n", "abc"), std::string::npos, true) == "…");
  CHECK(read(with("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n"), std::string::npos, true) ==
        "…");
}

TEST_CASE("interim answers are passed over, but not without end") {
  const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
  CHECK(read(interim + with("Content-Length: 1\r\n", "a")) == "200+ a");
  std::string many;
  for (int i = 0; i < 10; ++i) many += interim;
  CHECK(read(many) == "no answer, only interim ones");
}

TEST_CASE("other texts are refused") {
  CHECK(read("SSH-2.0-OpenSSH\r\n") == "no HTTP/1.1 answer");
  CHECK(read("HTTP/2 200\r\n") == "no HTTP/1.1 answer");
  CHECK(read("HTTP/1.1 99 x\r\n") == "no HTTP/1.1 answer");
  CHECK(read("HTTP/1.1 2000\r\n\r\n") == "no HTTP/1.1 answer");
  CHECK(read("\r\n") == "no HTTP/1.1 answer");
  CHECK(read(with("no colon\r\n")) == "a header without a colon");
  CHECK(read(with("Content-Length: x\r\n")) == "no length of the body");
  CHECK(read(with("Content-Length: 1\r\nContent-Length: 2\r\n")) == "no length of the body");
  CHECK(read(with("Transfer-Encoding: gzip\r\n")) == "an unknown encoding");
  CHECK(read(with("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n")) ==
        "two lengths of the body");
}

TEST_CASE("nothing grows without a limit") {
  CHECK(read(with("Content-Length: 1001\r\n")) == "an answer that is too long");
  CHECK(read(with("Transfer-Encoding: chunked\r\n", "3e9\r\n" + std::string(1'001, 'x'))) ==
        "an answer that is too long");
  CHECK(read(with("", std::string(1'001, 'x'))) == "an answer that is too long");
  CHECK(read(std::string(10'000, 'x')) == "a header without an end");
  CHECK(read("HTTP/1.1 200 " + std::string(10'000, 'x') + "\n") == "a header that is too long");
  std::string headers;
  for (int i = 0; i < 200; ++i) headers += "X: y\r\n";
  CHECK(read(with(headers)) == "too many headers");
  CHECK(read(with("Transfer-Encoding: chunked\r\n", "0\r\n" + headers)) == "too many headers");
  headers.clear();
  for (int i = 0; i < 20; ++i) headers += "X: " + std::string(5'000, 'y') + "\r\n";
  CHECK(read(with(headers)) == "too many headers");
}

TEST_CASE("a request") {
  CHECK(store::etcd::post_request("h:1", "/v3/x", "tok", "{}") ==
        "POST /v3/x HTTP/1.1\r\nHost: h:1\r\nContent-Type: application/json\r\nContent-Length: "
        "2\r\nGrpc-Metadata-Hasleader: true\r\nAuthorization: tok\r\n\r\n{}");
  CHECK(store::etcd::post_request("h:1", "/", "", "").find("Authorization") == std::string::npos);
}

TEST_CASE("a proxy's own answer says nothing of the member behind it") {
  using store::Fault;
  const auto kind_of = [](int status, const std::string& body) {
    const auto meaning = store::etcd::meaning_of({status, body});
    return meaning ? std::optional<Fault::Kind>{} : meaning.error().fault.kind;
  };
  for (const int status : {429, 502, 503, 504}) {
    CHECK(kind_of(status, "<html>busy</html>") == Fault::Kind::silent);
  }
  CHECK(kind_of(404, "<html>not here</html>") == Fault::Kind::unusable);
  CHECK(kind_of(503, R"({"code":14,"message":"etcdserver: no leader"})") ==
        Fault::Kind::unavailable);
}

}  // namespace unit::etcd_http
