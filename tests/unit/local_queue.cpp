// The queue of a local lock: its texts and its order; and a queue in a directory.
#include "store/local/queue.hpp"

#include <doctest/doctest.h>

#include "os/file.hpp"
#include "store/local/directory.hpp"
#include "store/local/mail.hpp"
#include "temporary_directory.hpp"

namespace unit::local_queue {

namespace {

using namespace store::local;
using store::Fence;
using store::Millis;
using store::Mode;
using store::Token;
using Kind = Mode::Kind;

const Mode exclusive{};
const Mode shared{Kind::shared};
const Mode three{Kind::permits, 3};

QueueEntry entry(std::uint64_t ticket, Mode mode = {}, std::optional<Fence> fence = {}) {
  return {ticket, Token::foreign("t" + std::to_string(ticket)), mode, 1'000, fence, std::nullopt};
}

struct Directory : TemporaryDirectory {
  [[nodiscard]] Queue queue() const {
    Queue queue{QueueFiles{*os::Directory::open(path, os::Missing::give_up)}};
    REQUIRE(queue.read());
    return queue;
  }
};

}  // namespace

TEST_CASE("numbers are read whole, or not at all") {
  using Numbers = std::vector<std::uint64_t>;
  CHECK(numbers_in("1 02\n3\n") == Numbers{1, 2, 3});
  CHECK(numbers_in("").empty());
  CHECK(numbers_in("1 x").empty());
  CHECK(numbers_in("1x").empty());
  CHECK(numbers_in("-1").empty());
  CHECK(numbers_in("99999999999999999999").empty());
  CHECK(twenty_digits(12) == "00000000000000000012");
}

TEST_CASE("an entry is read back as it was written, in every mode") {
  const Mode named{Mode::Kind::permits, 2, {"gpu 1", "gpu:0"}};
  for (const Mode& mode : {exclusive, shared, three, named}) {
    const auto again = entry_in(text_of(entry(5, mode)));
    REQUIRE(again);
    CHECK(again->mode == mode);
    CHECK(again->token.text() == "t5");
    CHECK(again->since == 1'000);
    CHECK_FALSE(again->holds());
    CHECK(again->slot.empty());
    auto with_slot = entry(5, mode);
    with_slot.slot = "2026-11-24";
    CHECK(entry_in(text_of(with_slot))->slot == "2026-11-24");
    CHECK(entry_in(text_of(with_slot))->token.text() == "t5");
  }
  for (const char* broken : {"", "0 1 5", "0 1\nt", "3 1 5\nt", "3 1 5\na,a\nt", "2 1 5\nt",
                             "2 1000001 5\nt", "x 1 5\nt"}) {
    CAPTURE(broken);
    CHECK_FALSE(entry_in(broken));
  }
  CHECK(entry_in("0 1 99999999999999999\nt")->since == 253'402'300'799'999);
}

TEST_CASE("the names of files tell tickets in the order of arrival, each once") {
  CHECK(*ticket_in("00000000000000000012") == TicketNames{12, false});
  CHECK(*ticket_in("00000000000000000012.grant") == TicketNames{12, true});
  CHECK(*ticket_in("00000000000000000012.who") == TicketNames{12, false});
  CHECK_FALSE(ticket_in("ledger"));
  CHECK_FALSE(ticket_in(""));
  std::vector<TicketNames> tickets{{7, false}, {3, false}, {7, true}, {3, false}};
  put_in_order(tickets);
  CHECK(tickets == std::vector<TicketNames>{{3, false}, {7, true}});
}

TEST_CASE("a notice is read from a line, and made printable") {
  CHECK(notice_in("stop cancelled by ann")->why == "cancelled by ann");
  CHECK(notice_in("stop x")->kind == store::Notice::Kind::stop);
  CHECK(notice_in("lost ann")->why == "force-released by ann");
  CHECK(notice_in("lost ann")->kind == store::Notice::Kind::lost);
  CHECK(notice_in("stop a\x1b")->why.find('\x1b') == std::string::npos);
  CHECK_FALSE(notice_in("look"));
  CHECK(*line_of(store::rules::Post{"t", "stop - why not"}) == "stop why not");
  CHECK(*line_of(store::rules::Post{"t", "lost - ann"}) == "lost ann");
  CHECK_FALSE(line_of(store::rules::Post{"t", "wake"}));
  using State = store::rules::SlotState::Kind;
  const store::rules::RememberedSlot done{
      "s", {State::done, {1, 0}, "t", "", {store::RunOutcome::Kind::exited, 3}, 7, 5}, 9};
  CHECK(done_in(line_of(done)) == done);
  CHECK_FALSE(done_in(line_of(store::rules::RememberedSlot{"s", {State::open, {1, 0}}, 9})));
  CHECK_FALSE(done_in("look"));
}

TEST_CASE("a queue keeps the order of arrival, and forgets whose process is dead") {
  const Directory directory;
  auto queue = directory.queue();
  CHECK(queue.anyone() == nullptr);
  CHECK(queue.last_ticket() == 0);
  auto first = queue.add(entry(1));
  auto second = queue.add(entry(2));
  auto third = queue.add(entry(3));
  REQUIRE(first);
  REQUIRE(second);
  REQUIRE(third);
  REQUIRE(queue.change(1, [](QueueEntry& each) { each.fence = 9; }));

  auto again = directory.queue();
  CHECK(again.last_ticket() == 3);
  CHECK(again.waiting() == 2);
  CHECK(again.waiting(3) == 1);
  CHECK(again.holders().front().ticket == 1);
  CHECK(again.find(1)->fence == 9);
  CHECK(again.find(Token::foreign("t2"))->ticket == 2);
  CHECK(again.first_waiter()->ticket == 2);
  CHECK(again.waiter_before(3)->ticket == 2);
  CHECK(again.waiter_before(2) == nullptr);
  CHECK(again.find(7) == nullptr);
  CHECK(again.change(7, [](QueueEntry&) {}).error().number == ENOENT);

  { const auto dies = *std::move(second); }
  auto later = directory.queue();
  CHECK(later.waiting() == 2);  // as far as names tell
  CHECK(later.waiter_before(3) == nullptr);
  CHECK(later.first_waiter()->ticket == 3);
  CHECK(later.waiting() == 1);
  CHECK(later.everyone().size() == 2);
}

TEST_CASE("a holder whose process is dead stays as long as it is kept") {
  const Directory directory;
  auto queue = directory.queue();
  {
    auto dies = queue.add(entry(1));
    REQUIRE(queue.change(1, [](QueueEntry& each) {
      each.fence = 9;
      each.kept_until = wall_now() + 60'000;
    }));
  }
  CHECK(directory.queue().holders().size() == 1);
  REQUIRE(queue.change(1, [](QueueEntry& each) { each.kept_until = wall_now() - 1; }));
  CHECK(directory.queue().holders().empty());
}

TEST_CASE("an entry that cannot be written is an error, and leaves nothing") {
  auto queue = Queue{QueueFiles{os::Directory{}}};
  CHECK_FALSE(queue.read());
  CHECK(queue.add(entry(1)).error().number == ENOENT);
  CHECK(queue.everyone().empty());
}

TEST_CASE("a key is the name of a directory, and is read back from it") {
  const auto name = *store::LockName::from("a/b%");
  CHECK(*file_of(name) == "a%2Fb%25");
  CHECK(name_of("a%2Fb%25") == name);
  CHECK_FALSE(file_of(*store::LockName::from(std::string(300, 'x'))));
  for (const char* no_key : {"%zz", ".", "..", ".gates"}) CHECK_FALSE(name_of(no_key));
  CHECK(gates_of("redis://a").path != gates_of("redis://b").path);
}

}  // namespace unit::local_queue
