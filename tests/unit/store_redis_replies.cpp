// The answers of servers: our scripts, errors, redirections, and answers that are too large.
#include <doctest/doctest.h>
#include <hiredis/hiredis.h>

#include <memory>
#include <string>

#include "store/redis/cluster.hpp"
#include "store/redis/scripts.hpp"

namespace unit::store_redis_replies {

using namespace store;
using namespace store::redis;

namespace {

/// The answer that these bytes on the wire are; null if a limit is exceeded or they are none.
redisReply* read(const std::string& wire) {
  const std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader{redisReaderCreate(),
                                                                        &redisReaderFree};
  ReplyLimits limits;
  limits.rule(*reader);
  REQUIRE(redisReaderFeed(reader.get(), wire.data(), wire.size()) == REDIS_OK);
  void* found = nullptr;
  if (redisReaderGetReply(reader.get(), &found) != REDIS_OK) return nullptr;
  return static_cast<redisReply*>(found);
}

Reply reply_of(const std::string& wire) {
  auto* found = read(wire);
  REQUIRE(found != nullptr);
  return Reply{found};
}

RedisServer::Tcp tcp(std::string host, std::string port) {
  return {std::move(host), std::move(port)};
}

}  // namespace

TEST_CASE("a reply read as what it is not is empty") {
  const Reply number = reply_of(":7\r\n");
  CHECK(number.is_integer());
  CHECK(number.integer() == 7);
  CHECK(number.text().empty());
  CHECK(number.size() == 0);
  CHECK(number[3].text().empty());
  const Reply text = reply_of("$2\r\nab\r\n");
  CHECK(text.text() == "ab");
  CHECK(text.integer() == 0);
  CHECK(reply_of("+OK\r\n").text() == "OK");
  const Reply error = reply_of("-ERR x\r\n");
  CHECK(error.is_error());
  CHECK(error.text() == "ERR x");
  CHECK(reply_of("*2\r\n:1\r\n:2\r\n")[1].integer() == 2);
}

TEST_CASE("an answer has at most so many elements, and is not deeper than so many arrays") {
  CHECK(read("*262145\r\n") == nullptr);
  std::string deep;
  for (int i = 0; i < ReplyLimits::deepest; ++i) deep += "*1\r\n";
  const Reply allowed = reply_of(deep + ":1\r\n");
  CHECK(allowed.size() == 1);
  CHECK(read("*1\r\n" + deep + ":1\r\n") == nullptr);
}

TEST_CASE("an answer has at most so many bytes, and no line is longer than 64 KiB") {
  redisReader reader{};
  ReplyLimits limits;
  CHECK(limits.take(reader, ReplyLimits::most_bytes));
  CHECK_FALSE(limits.take(reader, 1));
  limits.renew();
  CHECK(limits.take(reader, 1));
  std::string line(ReplyLimits::longest_line + 1, 'x');
  reader.buf = line.data();
  reader.len = line.size();
  CHECK_FALSE(limits.take(reader, 1));
  line[100] = '\n';
  CHECK(limits.take(reader, 1));
}

TEST_CASE("lengths are cut to 0 and a century") {
  CHECK(length_in(reply_of(":1500\r\n")) == Millis{1500});
  CHECK(length_in(reply_of(":-2\r\n")) == Millis{0});
  CHECK(length_in(reply_of("$1\r\n5\r\n")) == Millis{0});
  CHECK(length_in(reply_of(":9223372036854775807\r\n")) ==
        Millis{std::int64_t{1000} * 60 * 60 * 24 * 365 * 100});
}

TEST_CASE("fields are read by name, and what is absent is empty") {
  const Reply reply = reply_of("*5\r\n+busy\r\n+waiting\r\n:3\r\n+busy\r\n+x\r\n");
  const Fields fields{reply, 1};
  CHECK(fields["waiting"].integer() == 3);
  CHECK(fields["busy"].text() == "x");
  CHECK(fields["x"].text().empty());
  CHECK_FALSE(length_if_in(fields["x"]));
  CHECK(Fields{reply}["x"].text().empty());  // a name without a value is none
  const Reply number = reply_of(":7\r\n");
  CHECK(Fields{number}["waiting"].integer() == 0);
}

TEST_CASE("arguments are names and values") {
  Arguments arguments;
  arguments.say("id", "t").say("ttl", Millis{30'000}).say("fence", std::uint64_t{1} << 52U);
  CHECK(arguments.take() ==
        std::vector<std::string>{"id", "t", "ttl", "30000", "fence", "4503599627370496"});
}

TEST_CASE("a holder is read from its fields") {
  const auto holder = holder_in(
      reply_of("*12\r\n+kind\r\n+holder\r\n+token\r\n+t\r\n+left\r\n:900\r\n+held\r\n:100\r\n"
               "+more\r\n:2\r\n+reason\r\n+a migration\r\n"));
  REQUIRE(holder);
  CHECK(holder->kind == Holder::Kind::holder);
  CHECK(holder->token == "t");
  CHECK(holder->expires_in == Millis{900});
  CHECK(holder->held_for == Millis{100});
  CHECK(holder->others == 2);
  CHECK(holder->reason == "a migration");
}

TEST_CASE("a holder may be reserved or foreign, without expiry or age; or nobody") {
  const auto of = [](const std::string& kind) {
    return holder_in(reply_of("*4\r\n+token\r\n+\r\n+kind\r\n+" + kind + "\r\n"));
  };
  CHECK(of("kept")->kind == Holder::Kind::kept);
  CHECK(of("reserved")->kind == Holder::Kind::reserved);
  CHECK(of("foreign")->kind == Holder::Kind::foreign);
  CHECK(of("anything")->kind == Holder::Kind::foreign);
  CHECK_FALSE(of("foreign")->expires_in);
  CHECK_FALSE(of("foreign")->held_for);
  CHECK(of("foreign")->others == 0);
  CHECK_FALSE(of(""));
  CHECK_FALSE(holder_in(reply_of("*0\r\n")));
}

TEST_CASE("a fence is a text of digits") {
  CHECK(unsigned_in(reply_of("$3\r\n123\r\n")) == 123U);
  CHECK(unsigned_in(reply_of("$20\r\n18446744073709551615\r\n")) == 18446744073709551615U);
  CHECK_FALSE(unsigned_in(reply_of("$20\r\n18446744073709551616\r\n")));
  CHECK_FALSE(unsigned_in(reply_of("$0\r\n\r\n")));
  CHECK_FALSE(unsigned_in(reply_of("$2\r\n1x\r\n")));
  CHECK_FALSE(unsigned_in(reply_of("$2\r\n-1\r\n")));
  CHECK_FALSE(unsigned_in(reply_of(":5\r\n")));
}

TEST_CASE("a place in the queue says how the lock is wanted, and by whom") {
  const Token token = Token::foreign("u@h:1/x");
  const Mode named{Mode::Kind::permits, 2, {"gpu 1", "gpu:0"}};
  for (const Mode& mode : {Mode{}, Mode{Mode::Kind::shared}, Mode{Mode::Kind::permits, 3}, named}) {
    CHECK(waiter_in(queue_id(token, mode)) == std::pair{token, mode});
  }
  CHECK(queue_id(token, {}) == "u@h:1/x");
  CHECK(queue_id(token, {Mode::Kind::shared}) == "shared u@h:1/x");
  CHECK(queue_id(token, {Mode::Kind::permits, 3}) == "permits=3 u@h:1/x");
  CHECK(queue_id(token, named) == "one-of=gpu\t1,gpu:0 u@h:1/x");
  CHECK(mode_in("one-of=,,").kind == Mode::Kind::permits);
  CHECK(mode_in("one-of=,,").names.empty());
  CHECK(waiter_in("some app").first.text() == "some app");
  CHECK(waiter_in("").first.text().empty());
  CHECK(mode_in("exclusive") == Mode{});
  CHECK(mode_in("nonsense") == Mode{});
  CHECK(mode_in("permits=x").kind == Mode::Kind::permits);
}

TEST_CASE("an error of the server is sorted by whether asking again can help") {
  using Kind = Fault::Kind;
  const auto kind = [](std::string_view error) { return classify(error).kind; };
  for (const auto* error :
       {"NOAUTH Authentication required.", "WRONGPASS invalid", "NOPERM this",
        "ERR invalid password", "ERR AUTH <password> called", "DENIED Redis",
        "ERR unauthenticated bulk length",
        "ERR The user executing the script can't run this command",
        "ERR Error running script: -NOPERM x", "ERR ACL failure in script: x"}) {
    CHECK_MESSAGE(kind(error) == Kind::denied, error);
  }
  for (const auto* error :
       {"LOADING x", "READONLY x", "MASTERDOWN x", "CLUSTERDOWN x", "TRYAGAIN x", "UNBLOCKED x",
        "MISCONF x", "OOM x", "NOREPLICAS x", "BUSY x", "ERR max number of clients reached",
        "ERR Error running script: @user_script:1: -OOM command not allowed"}) {
    CHECK_MESSAGE(kind(error) == Kind::unavailable, error);
  }
  CHECK(kind("ERR unknown command") == Kind::unusable);
  CHECK(kind("CROSSSLOT Keys") == Kind::unusable);
  CHECK(kind("ERR my OOM") == Kind::unusable);
  CHECK(classify("ERR " + std::string(1000, 'x')).why.size() < 300);
  CHECK(classify("WRONGPASS \x1b").why.find('\x1b') == std::string::npos);
}

TEST_CASE("the server's error is told without the script that met it") {
  const std::string readonly = "the server says: READONLY You can't write";
  CHECK(classify("READONLY You can't write script: 4fa0, on @user_script:12.").why == readonly);
  CHECK(classify("ERR Error running script (call to f_4fa0): @user_script:5: @user_script: 5: "
                 "-READONLY You can't write")
            .why == readonly);
  CHECK(classify("ERR user_script:1: attempt to index a nil value script: 4fa0").why ==
        "the server says: ERR user_script:1: attempt to index a nil value script: 4fa0");
}

TEST_CASE("a fault on the way did not happen, and says where") {
  const auto silent = on_the_way(tcp("h\n", "1"), {Fault::Kind::silent, "no answer"});
  CHECK(silent.kind == Fault::Kind::unreachable);
  CHECK(silent.why == "h\\n:1: no answer");
  CHECK(on_the_way(tcp("h", "1"), {Fault::Kind::denied, "x"}).kind == Fault::Kind::denied);
}

TEST_CASE("MOVED is followed, anything else is not") {
  ClusterRoute route;
  CHECK_FALSE(route.sent_to());
  CHECK_FALSE(route.note("ASK 1 h:2"));
  CHECK_FALSE(route.note("MOVED 1"));
  CHECK_FALSE(route.note("MOVED 1 h"));
  CHECK_FALSE(route.note("MOVED 1 h:"));
  CHECK_FALSE(route.note("MOVED 1 :7"));
  CHECK_FALSE(route.just_sent());
  CHECK(route.note("MOVED 3999 10.0.0.1:6381"));
  CHECK(route.sent_to() == tcp("10.0.0.1", "6381"));
  CHECK(route.just_sent() == tcp("10.0.0.1", "6381"));
  route.arrive(tcp("10.0.0.1", "6381"));
  CHECK_FALSE(route.just_sent());
  CHECK(route.sent_to() == tcp("10.0.0.1", "6381"));
}

TEST_CASE("a redirection without a host means the host that was asked") {
  ClusterRoute route;
  route.arrive(tcp("web1", "7000"));
  CHECK(route.target("ASK 1 :7001") == tcp("web1", "7001"));
  CHECK(route.target("MOVED 1 ::1:7001") == tcp("::1", "7001"));
  route.arrive(RedisServer::Unix{"/s"});
  CHECK_FALSE(route.target("ASK 1 :7001"));
  CHECK_FALSE(route.target("ASK"));
}

TEST_CASE("another node than the one we were sent to makes the redirection void") {
  ClusterRoute route;
  REQUIRE(route.note("MOVED 1 a:1"));
  route.arrive(tcp("b", "2"));
  CHECK_FALSE(route.sent_to());
}

TEST_CASE("candidates: where we were sent, the given ones, those seen before; each once") {
  const RedisServer::Nodes given{tcp("a", "1"), tcp("b", "2")};
  ClusterRoute route;
  CHECK(route.candidates(given) == given);
  REQUIRE(route.note("MOVED 1 c:3"));
  REQUIRE(route.note("MOVED 1 b:2"));
  CHECK(route.candidates(given) == RedisServer::Nodes{tcp("b", "2"), tcp("a", "1"), tcp("c", "3")});
  route.forget();
  CHECK_FALSE(route.sent_to());
  CHECK(route.candidates(given) == RedisServer::Nodes{tcp("b", "2"), tcp("c", "3"), tcp("a", "1")});
  CHECK(ClusterRoute{}.candidates({}).empty());
}

TEST_CASE("only the last eight nodes are remembered") {
  ClusterRoute route;
  for (int i = 0; i < 20; ++i) REQUIRE(route.note("MOVED 1 h:" + std::to_string(i)));
  CHECK(route.candidates({}).size() == 8);
}

TEST_CASE("BLPOP is told a time in seconds, never 0, which would be for ever") {
  CHECK(blocking_pop({"k"}, Millis{1500}) == Command{"BLPOP", "k", "1.500"});
  CHECK(blocking_pop({"k"}, Millis{0}) == Command{"BLPOP", "k", "0.001"});
  CHECK(blocking_pop({"k"}, Millis{-5}) == Command{"BLPOP", "k", "0.001"});
}

TEST_CASE(
    "a proxy's words for a server that it cannot reach are temporary, in any case of letters") {
  for (const char* error :
       {"no upstream host", "upstream failure", "ERR Connection refused", "Connection timed out",
        "ERR server closed connection", "ERR No route to host", "ERR Host is unreachable"}) {
    CHECK(classify(error).kind == Fault::Kind::unavailable);
  }
  CHECK(classify("ERR timeout is not a float or out of range").kind == Fault::Kind::unusable);
}

TEST_CASE(
    "a command is refused by an ACL, as unknown, or in the words of those who manage servers") {
  for (const char* error :
       {"NOPERM User x has no permissions to run the 'role' command",
        "ERR unknown command 'ROLE', with args beginning with: ", "unsupported command",
        "ERR Unknown Redis command called from script script: 25, on @user_script:24.",
        "ERR command 'role' not support for normal user", "ERR command is not allowed"}) {
    CHECK(refuses_command(classify(error)));
  }
  for (const char* error :
       {"LOADING x", "READONLY x", "ERR no upstream host", "ERR syntax error"}) {
    CHECK(!refuses_command(classify(error)));
  }
}

TEST_CASE(
    "of a Cluster each master counts once, and the host that was asked where one names none") {
  const std::string node_1 = "*3\r\n$9\r\n127.0.0.1\r\n:7001\r\n$1\r\na\r\n";
  const std::string node_2 = "*3\r\n$-1\r\n:7002\r\n$1\r\nb\r\n";
  const std::string node_3 =
      "*4\r\n$1\r\n?\r\n:7003\r\n$1\r\nc\r\n*2\r\n$2\r\nip\r\n$8\r\n10.0.0.3\r\n";
  const auto range = [](int first, int last, const std::string& node) {
    return "*3\r\n:" + std::to_string(first) + "\r\n:" + std::to_string(last) + "\r\n" + node;
  };
  const auto whole =
      masters_in(reply_of("*4\r\n" + range(0, 99, node_1) + range(100, 8'000, node_2) +
                          range(8'001, 9'000, node_1) + range(9'001, 16'383, node_3)),
                 "locks.example");
  CHECK(whole.nodes == std::vector{tcp("127.0.0.1", "7001"), tcp("locks.example", "7002"),
                                   tcp("10.0.0.3", "7003")});
  CHECK(!whole.missing);

  const auto nameless = masters_in(reply_of("*1\r\n" + range(0, 16'383, node_2)), "");
  CHECK(nameless.nodes.empty());
  CHECK(nameless.missing->why.find("0 to 16383") != std::string::npos);
  const auto hole = masters_in(reply_of("*1\r\n" + range(0, 16'000, node_1)), "");
  CHECK(hole.nodes.size() == 1);
  CHECK(hole.missing->why.find("383 of 16384 slots") != std::string::npos);
  CHECK(masters_in(reply_of("*0\r\n"), "").missing);
  CHECK(masters_in(reply_of("*2\r\n:1\r\n*1\r\n:-7\r\n"), "").missing);
}

TEST_CASE("a slot that a node is giving away or taking") {
  const std::string others =
      "07c3 127.0.0.1:7001@17001 master - 0 1426238317239 4 connected 5461-10922\n";
  const std::string own = "e7d1 127.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-5460";
  CHECK_FALSE(moving_slot_in(others + own + "\n"));
  CHECK(moving_slot_in(own + " [93-<-292f8b365bb7]\n" + others) == "93");
  CHECK(moving_slot_in(others + own + " [12706->-67ed2db8d677]") == "12706");
  for (const char* nonsense : {"", " [", " [->-x]", " [93]", " [93-x-1]", " [123456->-x]"}) {
    CHECK_FALSE(moving_slot_in(nonsense));
  }
}

}  // namespace unit::store_redis_replies
