#include "hold/addressees.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace hold {
namespace {

// The time in which a sender reaches all our processes on a busy machine.
constexpr base::Millis all_sent{50};
// The time that the witnesses get to run. A stopped one does not answer.
constexpr base::Millis longest_answer{1'000};

}  // namespace

void Addressees::came(const os::Signal& signal, bool by_manager, base::Moment now) {
  hurried_ = hurried_ && !doubts_.empty();
  doubts_.push_back({signal, by_manager, now});
}

void Addressees::witnessed(Witness by, int signal, pid_t sender, base::Moment now) {
  const auto too_old = [&](const Sighting& each) {
    return each.at + longest_answer + 2 * all_sent < now;
  };
  while (!sightings_.empty() && too_old(sightings_.front())) sightings_.pop_front();
  sightings_.push_back({by, signal, sender, now});
}

void Addressees::answered(Witness by, int question) {
  int& last = by == Witness::in_group ? answered_in_group_ : answered_guardian_;
  last = std::max(last, question);
}

void Addressees::gone(Witness which) {
  answered(which, std::numeric_limits<int>::max());
}

base::Deadline Addressees::ask_at(const Doubt& doubt) const {
  return hurried_ ? base::Deadline::at(doubt.came) : base::Deadline::at(doubt.came + all_sent);
}

std::optional<int> Addressees::question(base::Moment now) {
  bool asks = false;
  for (Doubt& doubt : doubts_) {
    if (doubt.question != 0 || !ask_at(doubt).passed(now)) continue;
    if (!std::exchange(asks, true)) ++asked_;
    doubt.question = asked_;
    doubt.answer_due = base::Deadline::after(now, longest_answer);
  }
  return asks ? std::optional{asked_} : std::nullopt;
}

bool Addressees::is_answered(const Doubt& doubt) const {
  return doubt.question != 0 && answered_in_group_ >= doubt.question &&
         answered_guardian_ >= doubt.question;
}

bool Addressees::has_seen(Witness witness, const Doubt& doubt) const {
  return std::any_of(sightings_.begin(), sightings_.end(), [&](const Sighting& each) {
    return each.by == witness && each.signal == doubt.signal.number &&
           each.sender == doubt.signal.pid && each.at + all_sent >= doubt.came;
  });
}

std::optional<Addressees::Decided> Addressees::take(base::Moment now) {
  if (doubts_.empty()) return std::nullopt;
  const Doubt first = doubts_.front();
  const bool answered = is_answered(first);
  if (!answered && !first.answer_due.passed(now)) return std::nullopt;
  doubts_.pop_front();
  const bool job_has_it = answered && has_seen(Witness::in_group, first) &&
                          (first.by_manager || !has_seen(Witness::guardian, first));
  return Decided{first.signal, job_has_it};
}

base::Deadline Addressees::due() const {
  auto due = base::Deadline::never();
  for (const Doubt& doubt : doubts_) {
    due = std::min(due, doubt.question == 0 ? ask_at(doubt) : doubt.answer_due);
  }
  return due;
}

}  // namespace hold
