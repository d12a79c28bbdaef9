// Keys, labels and tokens, and the arithmetic of a lease.
#include <doctest/doctest.h>

#include <string>

#include "store/lock_store.hpp"
#include "store/names.hpp"

namespace unit::store_names {

using namespace store;

namespace {

const std::string digits(40, 'a');

std::optional<TokenParts> parts_of(const std::string& text) {
  return Token::foreign(text).parts();
}

}  // namespace

TEST_CASE("a key has 1 to 1024 bytes, any but NUL") {
  CHECK(LockName::from("a"));
  CHECK(LockName::from(std::string(1024, 'x')));
  CHECK(LockName::from("\xff /{}\n"));
  CHECK_FALSE(LockName::from(""));
  CHECK_FALSE(LockName::from(std::string(1025, 'x')));
  CHECK_FALSE(LockName::from(std::string_view{"a\0b", 3}));
}

TEST_CASE("a label is printable text of at most 100 bytes") {
  CHECK(Label::from("build #7 ü")->text() == "build #7 ü");
  CHECK(Label::from(std::string(100, 'x')));
  CHECK_FALSE(Label::from(""));
  CHECK_FALSE(Label::from(std::string(101, 'x')));
  CHECK_FALSE(Label::from("a\nb"));
}

TEST_CASE("any text makes a tame label") {
  CHECK(Label::tamed("backup").text() == "backup");
  CHECK(Label::tamed("a b#c@d/e:fü").text() == "a_b_c_d_e_f__");
  CHECK(Label::tamed("a\tb\x7f").text() == "a_b_");
  CHECK(Label::tamed("").text() == "_");
  CHECK(Label::tamed(std::string(200, 'x')).text().size() == 100);
}

TEST_CASE("a minted token tells who made it, and no two are the same") {
  const auto label = *Label::from("a/b:c@d#e");
  const Token one = Token::mint(label);
  const Token two = Token::mint(label);
  CHECK(one != two);
  const auto parts = one.parts();
  REQUIRE(parts);
  CHECK(parts->label == "a/b:c@d#e");
  CHECK_FALSE(parts->user.empty());
  CHECK_FALSE(parts->host.empty());
  CHECK(parts->pid > 0);
  CHECK_FALSE(one.same_claim(two));
}

TEST_CASE("another try of a claim has another token of the same claim") {
  const Token first = Token::mint(*Label::from("x"));
  const Token second = first.another();
  CHECK(second != first);
  CHECK(second.same_claim(first));
  CHECK(first.same_claim(second));
  CHECK(second.another().same_claim(first));
  CHECK_FALSE(Token::foreign("x").same_claim(Token::foreign("x")));
  CHECK_FALSE(first.same_claim(Token::foreign("x")));
  CHECK_FALSE(Token::foreign("x").same_claim(first));
}

TEST_CASE("a foreign text is a token without parts") {
  CHECK_FALSE(parts_of(""));
  CHECK_FALSE(parts_of("app-lock"));
  CHECK_FALSE(parts_of("u@h:1/x"));
  CHECK_FALSE(parts_of("u@h:1/x#" + std::string(39, 'a')));
  CHECK_FALSE(parts_of("u@h:1/x#" + std::string(40, 'G')));
  CHECK_FALSE(parts_of("u@h:1#" + digits));
  CHECK_FALSE(parts_of("u:1/x#" + digits));
  CHECK_FALSE(parts_of("u@h/x#" + digits));
  CHECK_FALSE(parts_of("a:b@h/x#" + digits));
  CHECK_FALSE(parts_of("u@h:/x#" + digits));
  CHECK_FALSE(parts_of("u@h:1z/x#" + digits));
  CHECK_FALSE(parts_of("u@h:99999999999/x#" + digits));
  const auto parts = parts_of("u@h:12/a/b@c:1#" + digits);
  REQUIRE(parts);
  CHECK(parts->user == "u");
  CHECK(parts->host == "h");
  CHECK(parts->pid == 12);
  CHECK(parts->label == "a/b@c:1");
}

TEST_CASE("people see a token without its random part, and a foreign one clean and short") {
  CHECK(Token::foreign("u@h:1/x#" + digits).shown() == "u@h:1/x");
  CHECK(Token::foreign("a\x1b[2J").shown() == "a\\x1b[2J");
  CHECK(Token::foreign(std::string(500, 'x')).shown().size() < 130);
}

TEST_CASE("a lease is of 100 ms to a year") {
  CHECK_FALSE(Ttl::from(Millis{99}));
  CHECK(Ttl::from(Millis{100})->length() == Millis{100});
  CHECK(Ttl::from(Ttl::longest));
  CHECK_FALSE(Ttl::from(Ttl::longest + Millis{1}));
}

TEST_CASE("a lease counts from before the question, less one percent and 2 ms") {
  const Moment asked_at{std::chrono::seconds{100}};
  const auto ttl = *Ttl::from(Millis{30'000});
  CHECK(ttl.drift() == Millis{302});
  CHECK(validity(asked_at, ttl) == Deadline::at(asked_at + Millis{29'698}));
  CHECK(Ttl::from(Millis{100})->drift() == Millis{3});
}

}  // namespace unit::store_names
