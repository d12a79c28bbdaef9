#include <fnmatch.h>

#include "os/host.hpp"
#include "store/records/change.hpp"
#include "store/rules/runs.hpp"

namespace store::records {
namespace {

// For a last word, where posts do not arrive.
constexpr Millis second_look{500};

class RecordAdmin final : public LockAdmin {
 public:
  explicit RecordAdmin(std::unique_ptr<Records> records) : records_{std::move(records)} {}

  Result<LockReport> inspect(const LockName& name, const CallLimit& limit) override {
    return report(name, rules::remembered_runs, limit);
  }

  Result<Listing> list(const std::string& pattern, Listed which, Millis each_answer,
                       const CallLimit& limit) override {
    const auto one = [&] { return limit.at_most(Deadline::after(base::now(), each_answer)); };
    Listing listing;
    std::size_t names = 0;
    for (std::string after;;) {
      auto page = records_->page(after, one());
      if (!page) return std::move(page).error();
      if (page->empty()) return listing;
      for (const Named& each : *page) {
        // A server that sends pages without end.
        if (each.name <= after) return Fault{Fault::Kind::unusable, "a list of locks out of order"};
        names += sizeof each + each.name.size();
        if (names > longest_list) return too_long_a_list();
        after = each.name;
        const auto name = LockName::from(each.name);
        if (!name || ::fnmatch(pattern.c_str(), each.name.c_str(), 0) != 0) continue;
        auto found = report_of(*name, seen_in(each.snapshot, {}),
                               which == Listed::in_use ? 1 : rules::remembered_runs);
        const auto end = found ? listing.add(*std::move(found), which)
                               : listing.add_unread(*name, std::move(found).error());
        if (end) return *end;
      }
    }
  }

  Result<Removal> force_release(const LockName& name, const std::vector<Token>& shown,
                                const std::string& by, const CallLimit& limit) override {
    auto ready = listen(name, limit);
    if (!ready) return std::move(ready).error();
    const auto is_done = [](const Removal& each) { return std::holds_alternative<Removed>(each); };
    auto removed = changes_.change(name, rules::ForceRelease{shown, by, reply_id_}, is_done, limit);
    if (!removed) return std::move(removed).error();
    return std::move(removed->answer);
  }

  Result<std::size_t> ask_to_stop(const LockName& name, const std::vector<Token>& whom,
                                  const std::string& why, const CallLimit& limit) override {
    auto ready = listen(name, limit);
    if (!ready) return std::move(ready).error();
    auto asked = changes_.change(name, rules::AskToStop{whom, why, reply_id_}, limit);
    if (!asked) return std::move(asked).error();
    return asked->answer;
  }

  LastWord await_last_word(const LockName& name, const CallLimit& limit) override {
    // A post may be lost, but the last word is still in the record: leave time to read it at the
    // end.
    const auto at_the_end = limit.until.earlier_by(limit.until.left(base::now()) / 4);
    const auto next_look = [&] {
      return posts_ == Posts::arrive ? at_the_end : Deadline::after(base::now(), second_look);
    };
    for (auto look_at = next_look();;) {
      auto post = records_->take();
      if (post && *post && **post == "stopped") return LastWord::stopped;
      if (!post || look_at.passed(base::now())) {
        if (has_letter(name, limit)) return LastWord::stopped;
        if (!post) return LastWord::silence;
        look_at = posts_ == Posts::arrive ? Deadline::never() : next_look();
      }
      if (os::ended(limit)) return LastWord::silence;
      if (*post) continue;
      (void)os::wait_for(records_->descriptor(), os::Want::read, limit.at_most(look_at));
    }
  }

 private:
  /// Before the request, so that no answer comes too early.
  Result<base::Done> listen(const LockName& name, const CallLimit& limit) {
    auto listening = records_->listen(name, reply_id_, limit);
    if (!listening) return std::move(listening).error();
    posts_ = *listening;
    return base::Done{};
  }

  bool has_letter(const LockName& name, const CallLimit& limit) {
    const auto seen = changes_.look_at(name, limit);
    return seen && !letters_for(reply_id_, *seen).empty();
  }

  Result<LockReport> report(const LockName& name, std::size_t runs, const CallLimit& limit) {
    return report_of(name, changes_.look_at(name, limit), runs);
  }

  static Result<LockReport> report_of(const LockName& name, Result<Seen> seen, std::size_t runs) {
    if (!seen) return std::move(seen).error();
    rules::settle(seen->record.state, seen->facts);
    return rules::report(name, seen->record.state, seen->facts, runs);
  }

  std::unique_ptr<Records> records_;
  Changes changes_{*records_};
  // The address for a holder's last word.
  std::string reply_id_ = os::random_hex(20);
  Posts posts_ = Posts::arrive;
};

}  // namespace

std::unique_ptr<LockAdmin> open_admin(const OpenRecords& open) {
  return std::make_unique<RecordAdmin>(open());
}

}  // namespace store::records
