// Answers of etcd: HTTP, and the JSON of transactions, errors and watches.
#include "property.hpp"
#include "store/etcd/gateway.hpp"
#include "store/etcd/transaction.hpp"
#include "store/etcd/watch.hpp"

namespace {

using namespace store::etcd;

constexpr std::size_t most_body = 4'096;

struct Read {
  std::string wrong;
  bool is_complete = false;
  int status = 0;
  std::string body;
  bool operator==(const Read&) const = default;
};

/// The first answer in the text, which comes in pieces of that size.
Read read(std::string_view text, std::size_t piece) {
  AnswerReader reader{most_body};
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    bytes += text.substr(at, piece);
    const auto before = bytes.size();
    auto outcome = reader.read(bytes);
    fuzz::promise(bytes.size() <= before, "reading makes nothing longer");
    if (!outcome) return {std::move(outcome).error()};
    if (reader.is_complete()) break;
  }
  Read all{"", reader.is_complete(), reader.status(), reader.take_body()};
  fuzz::promise(all.body.size() <= most_body, "a body has its limit");
  return all;
}

store::sessions::Round round() {
  using Kind = store::sessions::Transaction::Kind;
  store::sessions::Round round;
  round.change.create(Kind::queue, "q/x-", "token");
  round.change.check("c");
  round.get("n");
  round.queue("q");
  return round;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  const Read whole = read(text, text.size() + 1);
  constexpr std::size_t pieces = 3;
  const Read parts = read(text, pieces);
  // A line without an end may be given up sooner or later.
  if (whole.wrong.empty() && parts.wrong.empty()) {
    fuzz::promise(whole == parts, "an answer is the same in whatever pieces it comes");
  }
  const std::string body{text};
  constexpr int fine = 200;
  constexpr int unavailable = 503;
  for (const int status : {fine, unavailable}) {
    if (auto meaning = meaning_of({status, body}); !meaning) {
      fuzz::promise(!meaning.error().fault.why.empty(), "an error has a reason");
      fuzz::promise_clean(meaning.error().fault.why, "the reason is clean");
    }
  }
  (void)news_in(body);
  if (const auto json = json_in(body)) {
    const Asker self{7, 1'000};
    for (const auto asked : {Asked::once, Asked::again}) {
      const auto answer = answer_in(*json, round(), self, asked);
      if (!answer) continue;
      fuzz::promise(answer->answers.nodes.size() == 1 && answer->answers.queues.size() == 1,
                    "each question has an answer");
    }
  }
  const auto decoded = base64_in(body);
  fuzz::promise(base64_in(base64_of(body)) == body, "base64 is read back");
  fuzz::promise(!decoded || decoded->size() <= body.size(), "base64 is longer than its bytes");
  return 0;
}
