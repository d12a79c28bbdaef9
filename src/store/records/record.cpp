#include "store/records/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include "base/fields.hpp"

namespace store::records {
namespace {

using rules::Hold;
using rules::Letter;
using rules::LockState;
using rules::RememberedRun;
using rules::RememberedSlot;
using rules::Reservation;
using rules::SlotState;
using rules::TimeMs;
using rules::Wait;

constexpr std::string_view version = "rlock\t1";

constexpr std::string_view shared = "shared";
constexpr std::string_view exclusive = "exclusive";
constexpr std::string_view permits = "permits=";
constexpr std::string_view one_of = "one-of=";

std::string_view name_of(SlotState::Kind kind) {
  switch (kind) {
    case SlotState::Kind::open: return "open";
    case SlotState::Kind::running: return "running";
    case SlotState::Kind::done: return "done";
    case SlotState::Kind::none: break;
  }
  return "none";
}

std::optional<SlotState::Kind> slot_kind_in(std::string_view text) {
  using Kind = SlotState::Kind;
  for (const Kind kind : {Kind::none, Kind::open, Kind::running, Kind::done}) {
    if (name_of(kind) == text) return kind;
  }
  return std::nullopt;
}

std::string text_of(const Mode& mode) {
  if (mode.kind == Mode::Kind::exclusive) return std::string{exclusive};
  if (mode.kind == Mode::Kind::shared) return std::string{shared};
  if (mode.names.empty()) return fmt::format("{}{}", permits, mode.permits);
  return fmt::format("{}{}", one_of, fmt::join(mode.names, ","));
}

std::optional<Mode> mode_in(std::string_view text) {
  if (text == exclusive) return Mode{};
  if (text == shared) return Mode{Mode::Kind::shared};
  if (text.starts_with(one_of)) {
    auto names = permit_names_in(text.substr(one_of.size()));
    if (!names) return std::nullopt;
    const auto number = static_cast<unsigned>(names->size());
    return Mode{Mode::Kind::permits, number, *std::move(names)};
  }
  if (!text.starts_with(permits)) return std::nullopt;
  const auto number = base::number_in<unsigned>(text.substr(permits.size()));
  if (!number || *number < 2 || *number > Mode::most_permits) return std::nullopt;
  return Mode{Mode::Kind::permits, *number};
}

/// Writes a line; its fields may contain any byte.
class Line {
 public:
  explicit Line(std::string_view name) : text_{name} {}

  Line& say(std::string_view field) {
    text_ += '\t';
    for (const char each : field) {
      switch (each) {
        case '\\': text_ += "\\\\"; break;
        case '\t': text_ += "\\t"; break;
        case '\n': text_ += "\\n"; break;
        default: text_ += each;
      }
    }
    return *this;
  }
  template <class Number>
  requires std::is_integral_v<Number> Line& say(Number number) {
    return say(std::string_view{fmt::format_int{number}.c_str()});
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Reads a line field by field. One invalid field makes the whole line invalid.
class Fields {
 public:
  explicit Fields(std::string_view line) : fields_{base::fields_of(line)} {}

  [[nodiscard]] std::string_view name() const { return fields_.front(); }
  [[nodiscard]] bool is_whole() const { return whole_ && next_ == fields_.size(); }
  [[nodiscard]] bool has_more() const { return next_ < fields_.size(); }

  std::string text() {
    std::string text;
    bool escaped = false;
    for (const char each : next()) {
      if (escaped) {
        text += each == 't' ? '\t' : each == 'n' ? '\n' : each;
      } else if (each != '\\') {
        text += each;
      }
      escaped = !escaped && each == '\\';
    }
    return text;
  }
  Token token() { return Token::foreign(text()); }
  template <class Number>
  Number number() {
    const auto found = base::number_in<Number>(next());
    whole_ = whole_ && found;
    return found.value_or(Number{});
  }
  TimeMs time() {
    const auto found = number<TimeMs>();
    // A century ahead is as good as forever, and overflows nothing.
    constexpr TimeMs latest = TimeMs{1} << 52;
    whole_ = whole_ && found >= 0 && found <= latest;
    return found;
  }
  Mode mode() { return known(mode_in(text())).value_or(Mode{}); }
  RunOutcome outcome() {
    return known(outcome_in(text())).value_or(RunOutcome{RunOutcome::Kind::lost});
  }
  SlotState::Kind slot_kind() {
    return known(slot_kind_in(text())).value_or(SlotState::Kind::none);
  }

 private:
  std::string_view next() {
    whole_ = whole_ && has_more();
    return has_more() ? fields_[next_++] : std::string_view{};
  }
  template <class Value>
  std::optional<Value> known(std::optional<Value> value) {
    whole_ = whole_ && value;
    return value;
  }

  std::vector<std::string_view> fields_;
  std::size_t next_ = 1;
  bool whole_ = true;
};

Line line_of(const RememberedRun& run) {
  Line line{"run"};
  line.say(run.token.text()).say(run.fence).say(run.granted).say(run.waited.count());
  line.say(run.slot).say(run.attempt).say(run.reason);
  if (run.end) line.say(run.end->at).say(text_of(run.end->outcome)).say(run.end->why);
  return line;
}

RememberedRun run_in(Fields& fields) {
  auto token = fields.token();
  const auto fence = fields.number<Fence>();
  const auto granted = fields.time();
  RememberedRun run{std::move(token), fence, granted, Millis{fields.time()}};
  run.slot = fields.text();
  run.attempt = fields.number<unsigned>();
  run.reason = fields.text();
  if (fields.has_more()) {
    const auto at = fields.time();
    const auto outcome = fields.outcome();
    run.end = RememberedRun::End{at, outcome, fields.text()};
  }
  return run;
}

Line line_of(const RememberedSlot& slot) {
  const SlotState& is = slot.state;
  Line line{"slot"};
  line.say(slot.id).say(slot.ends).say(name_of(is.kind)).say(is.runs.attempt);
  line.say(is.runs.failures).say(is.token).say(is.before);
  line.say(text_of(is.outcome)).say(is.fence).say(is.ended_ms);
  return line;
}

RememberedSlot slot_in(Fields& fields) {
  RememberedSlot slot{fields.text(), {}, 0};
  SlotState& is = slot.state;
  slot.ends = fields.time();
  is.kind = fields.slot_kind();
  is.runs.attempt = fields.number<unsigned>();
  is.runs.failures = fields.number<unsigned>();
  is.token = fields.text();
  is.before = fields.text();
  is.outcome = fields.outcome();
  is.fence = fields.number<Fence>();
  is.ended_ms = fields.time();
  return slot;
}

/// Parses a known line into the state; false if the line is unknown.
bool take(Fields& fields, LockState& state) {
  const auto name = fields.name();
  if (name == "fence") {
    state.last_fence = fields.number<Fence>();
    state.last_token = fields.token();
    state.fence_ends = fields.time();
  } else if (name == "mode") {
    state.mode = fields.mode();
  } else if (name == "hold") {
    auto token = fields.token();
    const auto fence = fields.number<Fence>();
    const auto ends = fields.time();
    const auto permit = fields.number<unsigned>();
    state.holders.push_back(Hold{std::move(token), fence, ends, permit, fields.time()});
  } else if (name == "reserved") {
    auto token = fields.token();
    auto mode = fields.mode();
    state.reservation = Reservation{std::move(token), std::move(mode), fields.time()};
  } else if (name == "wait") {
    auto token = fields.token();
    auto mode = fields.mode();
    const auto ticket = fields.number<std::uint64_t>();
    state.queue.push_back(Wait{std::move(token), std::move(mode), ticket, fields.time()});
  } else if (name == "letter") {
    auto to = fields.text();
    const auto ends = fields.time();
    state.letters.push_back(Letter{std::move(to), fields.text(), ends});
  } else if (name == "memory") {
    state.runs_end = fields.time();
  } else if (name == "run") {
    state.runs.push_back(run_in(fields));
  } else if (name == "slot") {
    state.slots.push_back(slot_in(fields));
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string text_of(const Record& record) {
  const LockState& state = record.state;
  std::string text{version};
  const auto add = [&](const Line& line) { (text += '\n') += line.text(); };
  if (state.last_token) {
    add(Line{"fence"}.say(state.last_fence).say(state.last_token->text()).say(state.fence_ends));
  }
  if (state.mode != Mode{}) add(Line{"mode"}.say(text_of(state.mode)));
  for (const auto& each : state.holders) {
    Line line{"hold"};
    line.say(each.token.text()).say(each.fence).say(each.ends).say(each.permit).say(each.kept);
    add(line);
  }
  if (const auto& is = state.reservation) {
    add(Line{"reserved"}.say(is->token.text()).say(text_of(is->mode)).say(is->ends));
  }
  for (const auto& each : state.queue) {
    Line line{"wait"};
    line.say(each.token.text()).say(text_of(each.mode)).say(each.ticket).say(each.believed);
    add(line);
  }
  for (const auto& each : state.letters) {
    add(Line{"letter"}.say(each.to).say(each.ends).say(each.text));
  }
  if (state.runs_end != 0) add(Line{"memory"}.say(state.runs_end));
  for (const auto& each : state.runs) add(line_of(each));
  for (const auto& each : state.slots) add(line_of(each));
  for (const auto& each : record.unknown) (text += '\n') += each;
  return text;
}

void make_room(Record& record) {
  auto& slots = record.state.slots;
  std::size_t size = 0;
  for (const auto& each : slots) size += line_of(each).text().size() + 1;
  if (size <= longest_slots) return;
  std::vector<const RememberedSlot*> order;
  for (const auto& each : slots) {
    if (each.state.kind != SlotState::Kind::running) order.push_back(&each);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* one, const auto* other) { return one->ends < other->ends; });
  std::set<std::string> forgotten;
  for (const auto* each : order) {
    if (size <= longest_slots) break;
    size -= line_of(*each).text().size() + 1;
    forgotten.insert(each->id);
  }
  std::erase_if(slots, [&](const auto& each) { return forgotten.contains(each.id); });
}

rules::TimeMs ends_of(const Record& record) {
  if (!record.unknown.empty()) return std::numeric_limits<TimeMs>::max();
  const LockState& state = record.state;
  TimeMs ends = std::max(state.fence_ends, state.runs_end);
  for (const Hold& each : state.holders) ends = std::max({ends, each.ends, each.kept});
  if (state.reservation) ends = std::max(ends, state.reservation->ends);
  for (const Wait& each : state.queue) ends = std::max(ends, each.believed);
  for (const Letter& each : state.letters) ends = std::max(ends, each.ends);
  for (const RememberedSlot& each : state.slots) ends = std::max(ends, each.ends);
  return ends;
}

std::optional<Record> record_in(std::string_view text) {
  if (text.empty()) return Record{};
  if (text.size() > longest_record) return std::nullopt;
  Record record;
  bool first = true;
  for (;;) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    if (std::exchange(first, false)) {
      if (line != version) return std::nullopt;
    } else {
      Fields fields{line};
      if (!take(fields, record.state)) {
        record.unknown.emplace_back(line);
      } else if (!fields.is_whole()) {
        return std::nullopt;
      }
    }
    if (end == text.size()) return record;
    text.remove_prefix(end + 1);
  }
}

}  // namespace store::records
