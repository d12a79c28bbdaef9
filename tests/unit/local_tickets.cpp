// Which tickets there may be, and how the ledger tells that to the next process.
#include "store/local/tickets.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "store/local/lock_dir.hpp"

namespace unit::local_tickets {

namespace {

using namespace store::local;
using Spans = std::vector<Tickets::Span>;

Tickets with(std::initializer_list<std::uint64_t> numbers) {
  Tickets tickets;
  for (const std::uint64_t each : numbers) tickets.add(each);
  return tickets;
}

}  // namespace

TEST_CASE("tickets are kept as spans, whatever comes and goes") {
  auto tickets = with({5, 3, 4, 9, 7, 8, 4});
  CHECK(tickets.spans() == Spans{{3, 5}, {7, 9}});
  tickets.add(6);
  CHECK(tickets.spans() == Spans{{3, 9}});
  tickets.remove(6);
  tickets.remove(6);
  tickets.remove(3);
  tickets.remove(9);
  CHECK(tickets.spans() == Spans{{4, 5}, {7, 8}});
  CHECK(tickets.has(7));
  CHECK_FALSE(tickets.has(6));
  CHECK(tickets.first_from(0) == 4);
  CHECK(tickets.first_from(6) == 7);
  CHECK_FALSE(tickets.first_from(9));
  CHECK(tickets.last_before(8) == 7);
  CHECK(tickets.last_before(7) == 5);
  CHECK_FALSE(tickets.last_before(4));
  CHECK(tickets.waiters_before(8) == 3);
  tickets.mark_holder(4);
  tickets.mark_holder(6);  // is not there
  CHECK(tickets.holders() == std::vector<std::uint64_t>{4});
  CHECK(tickets.waiters_before(8) == 2);
  tickets.remove(4);
  CHECK(tickets.holders().empty());
}

TEST_CASE("the smallest gaps are filled first") {
  auto tickets = with({1, 3, 10, 12, 30});
  tickets.fill_gaps(3);
  CHECK(tickets.spans() == Spans{{1, 3}, {10, 12}, {30, 30}});
  tickets.fill_gaps(1);
  CHECK(tickets.spans() == Spans{{1, 30}});
}

TEST_CASE("an outline is read back as it was written, and nothing else is one") {
  Outline outline{7, 40, 99, with({2, 3, 9, 40})};
  outline.tickets.mark_holder(3);
  CHECK(outline_in(text_of(outline)) == outline);
  CHECK(outline_in(text_of({0, 1, 9, {}})) == Outline{0, 1, 9, {}});
  // No ticket beyond the last one, no holder that is not there, nothing without a time.
  for (const char* broken :
       {"", "7 40 99 0 41 1", "7 40 99 0 40 2", "7 40 99 1 5 1 2", "7 40 99 0 1", "7 40 0 0 1 1",
        "7 40 99 0 1 x", "7 40 99 0 18446744073709551615 1", "7 40 99 0 1 18446744073709551615",
        "7 40 99 17 1 1"}) {
    CAPTURE(broken);
    CHECK_FALSE(outline_in(broken));
  }
}

TEST_CASE("an outline that is too long has all tickets and more, or says nothing") {
  Outline outline{7, 2000, 99, {}};
  for (std::uint64_t each = 1; each < 2000; each += 3) outline.tickets.add(each);
  const auto text = text_of(outline);
  CHECK(text.size() <= longest_outline);
  const auto again = outline_in(text);
  REQUIRE(again);
  for (std::uint64_t each = 1; each < 2000; each += 3) CHECK(again->tickets.has(each));
  for (std::uint64_t each = 1; each < 60; each += 3) outline.tickets.mark_holder(each);
  CHECK(text_of(outline).empty());
}

TEST_CASE("nobody lists a directory that nobody changed, and everybody one that somebody did") {
  using namespace store;
  char path[] = "/tmp/rlock-unit-XXXXXX";
  REQUIRE(::mkdtemp(path) != nullptr);
  const LocalDirectory directory{path};
  const auto name = *LockName::from("k");
  const CallLimit limit{Deadline::never()};
  const auto open = [&] { return LockDir::open(directory, name, os::Missing::create, limit); };
  std::optional<OwnEntry> own;
  {
    auto lock = open();
    REQUIRE(lock);
    auto made = lock->enqueue(Token::foreign("t"), {}, "");
    REQUIRE(made);
    own.emplace(*std::move(made));
  }
  const std::string inside = std::string{path} + "/k";
  struct stat before {};
  REQUIRE(::stat(inside.c_str(), &before) == 0);
  const auto another = os::NamedPipe::create(*os::Directory::open(inside, os::Missing::give_up),
                                             "00000000000000000009");
  REQUIRE(another);
  const timespec times[2] = {before.st_atim, before.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, inside.c_str(), times, 0) == 0);
  CHECK(open()->queue().waiting() == 1);  // from the ledger
  const timespec later[2] = {before.st_atim, {before.st_mtim.tv_sec + 1, 0}};
  REQUIRE(::utimensat(AT_FDCWD, inside.c_str(), later, 0) == 0);
  CHECK(open()->queue().waiting() == 2);
  std::filesystem::remove_all(path);
}

}  // namespace unit::local_tickets
