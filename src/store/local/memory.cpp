#include "store/local/memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/fields.hpp"
#include "os/file.hpp"
#include "store/local/directory.hpp"
#include "store/rules/runs.hpp"

namespace store::local {
namespace {

constexpr const char* runs_file = "runs";
constexpr const char* slots_file = "slots";

// Twenty times what so many runs take.
constexpr std::size_t longest_runs = std::size_t{1} << 20;
// Of one lock; of more the one that would be forgotten first makes room.
constexpr std::size_t most_slots = 16'384;
constexpr std::size_t longest_slots = (most_slots + 1) * record_length;

constexpr std::size_t checksum_length = 16;
constexpr std::size_t text_at = checksum_length + 1;
// Behind the text, and at the end of the record.
constexpr std::size_t line_ends = 2;

/// Takes a field away from the beginning.
std::string_view next_field(std::string_view& text) {
  const auto tab = std::min(text.find('\t'), text.size());
  const auto field = text.substr(0, tab);
  text.remove_prefix(std::min(tab + 1, text.size()));
  return field;
}

/// The text of a record, whole or not.
std::string_view line_in(std::string_view record) {
  const auto text = record.substr(std::min(text_at, record.size()));
  return text.substr(0, text.find('\n'));
}

using State = rules::SlotState::Kind;

std::string_view name_of(State state) {
  switch (state) {
    case State::running: return "running";
    case State::open: return "open";
    case State::none:
    case State::done: break;
  }
  return "done";
}

std::optional<State> state_in(std::string_view text) {
  for (const State each : {State::running, State::open, State::done}) {
    if (text == name_of(each)) return each;
  }
  return std::nullopt;
}

/// A file of records.
class Records {
 public:
  static os::Result<Records> open(const os::Directory& directory, const char* name,
                                  os::Missing missing, std::size_t longest) {
    auto file = directory.open_file(name, missing, longest);
    if (!file) return std::move(file).error();
    auto text = os::contents_of(*file, longest);
    if (!text) return std::move(text).error();
    return Records{*std::move(file), *std::move(text)};
  }

  /// Without a last one that was cut off.
  [[nodiscard]] std::size_t size() const { return text_.size() / record_length; }
  [[nodiscard]] std::string_view operator[](std::size_t index) const {
    return std::string_view{text_}.substr(index * record_length, record_length);
  }
  [[nodiscard]] os::Result<os::Done> write(std::size_t index, std::string_view text) const {
    return os::overwrite(file_, index * record_length, record_of(text));
  }

 private:
  Records(os::Fd file, std::string text) : file_{std::move(file)}, text_{std::move(text)} {}
  os::Fd file_;
  std::string text_;
};

/// How a run is remembered: for how long after it, and its line, as store::run_in has it.
struct RunRecord {
  std::size_t index;
  Fence fence;
  std::string_view token;
  Millis history;
  std::string_view line;
  bool has_end;
};

std::optional<RunRecord> run_record_in(std::size_t index, std::string_view record) {
  const auto text = text_in(record);
  if (!text) return std::nullopt;
  std::string_view line = *text;
  const auto history = base::number_in<std::uint64_t>(next_field(line));
  std::string_view fields = line;
  const auto fence = base::number_in<std::uint64_t>(next_field(fields));
  const auto token = next_field(fields);
  if (!history || !fence) return std::nullopt;
  // Behind the token an open line has the grant, the wait, the slot, the attempt and the reason.
  constexpr auto tabs_of_open_line = 4;
  const bool has_end = std::count(fields.begin(), fields.end(), '\t') > tabs_of_open_line;
  return RunRecord{index, *fence, token, Millis{wall_time(*history)}, line, has_end};
}

/// The newest first: fences grow with each grant.
std::vector<RunRecord> runs_in(const Records& records) {
  std::vector<RunRecord> all;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (const auto run = run_record_in(i, records[i])) all.push_back(*run);
  }
  std::sort(all.begin(), all.end(),
            [](const RunRecord& a, const RunRecord& b) { return a.fence > b.fence; });
  return all;
}

/// The last one says how long, and the file since when.
bool are_over(const std::vector<RunRecord>& runs, const os::Directory& directory) {
  return runs.empty() ||
         directory.unchanged_for(runs_file).value_or(Millis{0}) > runs.front().history;
}

bool is_one_of(const std::vector<std::string>& tokens, std::string_view token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

/// Where the next one goes: to the first place that is free, or that of one which makes room.
std::size_t place_in(const Records& records, const std::vector<RunRecord>& runs,
                     const std::vector<std::string>& holders) {
  const auto goes_on = [&](std::size_t which) {
    return !runs[which].has_end && is_one_of(holders, runs[which].token);
  };
  if (const auto over = rules::makes_room(runs.size(), goes_on)) return runs[*over].index;
  std::size_t index = 0;
  while (
      std::any_of(runs.begin(), runs.end(), [&](const auto& each) { return each.index == index; }))
    ++index;
  return std::min(index, records.size());
}

std::string text_of(Millis history, std::string_view line) {
  return fmt::format("{}\t{}", history.count(), line);
}

/// A slot's record begins with its id, so that the many others need not be read.
std::optional<std::size_t> index_of(const Records& records, const std::string& id) {
  const std::string beginning = id + '\t';
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].substr(text_at).starts_with(beginning)) return i;
  }
  return std::nullopt;
}

/// Until when a slot is remembered; 0 where that makes no sense.
WallTime end_of(std::string_view record) {
  std::string_view line = line_in(record);
  (void)next_field(line);
  return wall_time(base::number_in<std::uint64_t>(next_field(line)).value_or(0));
}

bool is_past(std::string_view record, WallTime now) {
  return end_of(record) <= now;
}

std::size_t first_to_be_forgotten(const Records& records) {
  std::size_t first = 0;
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (end_of(records[i]) < end_of(records[first])) first = i;
  }
  return first;
}

}  // namespace

// ---- the texts -------------------------------------------------------------------------------

std::string record_of(std::string_view text) {
  text = text.substr(0, record_length - text_at - line_ends);
  text = text.substr(0, text.find('\n'));
  auto record = fmt::format("{:016x}\t{}\n", digest(text), text);
  record.resize(record_length - 1, ' ');
  return record + '\n';
}

std::optional<std::string_view> text_in(std::string_view record) {
  if (record.size() != record_length) return std::nullopt;
  const auto text = line_in(record);
  if (text.empty() || record.substr(0, text_at) != fmt::format("{:016x}\t", digest(text)))
    return std::nullopt;
  return text;
}

std::string text_of(const SlotRecord& slot) {
  const auto& state = slot.state;
  auto text = fmt::format("{}\t{}\t{}\t{}\t{}\t{}", slot.id, slot.until, name_of(state.kind),
                          state.runs.attempt, state.runs.failures, state.token);
  if (state.is_done()) {
    text += fmt::format("\t{} {}\t{}\t{}", store::name_of(state.outcome.kind), state.outcome.number,
                        state.ended_ms, state.fence);
  } else if (!state.before.empty()) {
    text += '\t' + state.before;
  }
  return text;
}

std::optional<SlotRecord> slot_in(std::string_view text) {
  const auto id = next_field(text);
  const auto until = base::number_in<std::uint64_t>(next_field(text));
  const auto state = state_in(next_field(text));
  const auto attempt = base::number_in<unsigned>(next_field(text));
  const auto failures = base::number_in<unsigned>(next_field(text));
  const auto token = next_field(text);
  if (!until || !state || !attempt || !failures) return std::nullopt;
  SlotRecord slot{
      std::string{id}, wall_time(*until), {*state, {*attempt, *failures}, std::string{token}}};
  if (!slot.state.is_done()) {
    slot.state.before = next_field(text);
    return slot;
  }
  const auto outcome = outcome_in(next_field(text));
  const auto ended = base::number_in<std::uint64_t>(next_field(text));
  const auto fence = base::number_in<std::uint64_t>(next_field(text));
  if (!outcome || !ended || !fence) return std::nullopt;
  slot.state.outcome = *outcome;
  slot.state.ended_ms = wall_time(*ended);
  slot.state.fence = *fence;
  return slot;
}

// ---- the files -------------------------------------------------------------------------------

std::vector<Run> Memory::runs(const std::vector<std::string>& holders) const {
  const auto records = Records::open(directory_, runs_file, os::Missing::give_up, longest_runs);
  if (!records) return {};
  const auto found = runs_in(*records);
  std::vector<Run> runs;
  bool one_goes_on = false;
  for (const RunRecord& each : found) {
    const bool holds = is_one_of(holders, each.token);
    auto run = run_in(each.line, wall_now(), holds);
    if (!run) continue;
    one_goes_on = one_goes_on || run->outcome.kind == RunOutcome::Kind::running;
    runs.push_back(*std::move(run));
  }
  if (!one_goes_on && are_over(found, directory_)) return {};
  return rules::newest_of(std::move(runs));
}

void Memory::begin_run(const Claim& claim, Fence fence, unsigned attempt,
                       const std::vector<std::string>& holders) const {
  if (claim.history == Millis{0}) return;
  const auto open = [&] {
    return Records::open(directory_, runs_file, os::Missing::create, longest_runs);
  };
  auto records = open();
  const bool unreadable = !records && records.error().number == EFBIG;
  const auto found = records ? runs_in(*records) : std::vector<RunRecord>{};
  const bool one_goes_on = std::any_of(found.begin(), found.end(), [&](const RunRecord& each) {
    return !each.has_end && is_one_of(holders, each.token);
  });
  // What is over would come to life again.
  const bool begin_anew =
      unreadable || (!found.empty() && !one_goes_on && are_over(found, directory_));
  if (begin_anew) {
    directory_.remove(runs_file);
    records = open();
  }
  if (!records) return;
  const auto line = fmt::format("{}\t{}\t{}\t{}\t{}\t{}", fence, claim.token.text(), wall_now(),
                                fields_of_claim(claim.waited, claim.slot ? claim.slot->id : ""),
                                attempt == 0 ? "" : std::to_string(attempt), claim.reason);
  const auto place = begin_anew ? 0 : place_in(*records, found, holders);
  (void)records->write(place, text_of(claim.history, line));
}

void Memory::end_run(const Token& token, const RunEnd& end, Millis history) const {
  const auto records = Records::open(directory_, runs_file, os::Missing::give_up, longest_runs);
  if (!records) return;
  for (const RunRecord& each : runs_in(*records)) {
    if (each.has_end || each.token != token.text()) continue;
    const auto reason_at = each.line.rfind('\t');
    const auto line = fmt::format("{}\t{}\t{}{}", each.line.substr(0, reason_at), wall_now(),
                                  fields_of_end(end), each.line.substr(reason_at));
    (void)records->write(each.index, text_of(history > Millis{0} ? history : each.history, line));
    return;
  }
}

void Memory::touch_runs() const {
  directory_.touch(runs_file);
}

void Memory::erase_run(const Token& token) const {
  const auto records = Records::open(directory_, runs_file, os::Missing::give_up, longest_runs);
  if (!records) return;
  for (const RunRecord& each : runs_in(*records)) {
    if (!each.has_end && each.token == token.text()) (void)records->write(each.index, "");
  }
}

os::Result<rules::SlotState> Memory::slot(const std::string& id) const {
  const auto records = Records::open(directory_, slots_file, os::Missing::give_up, longest_slots);
  if (!records && records.error().number == ENOENT) return rules::SlotState{};
  if (!records) return records.error();
  const auto index = index_of(*records, id);
  const auto text = index ? text_in((*records)[*index]) : std::nullopt;
  auto slot = text ? slot_in(*text) : std::nullopt;
  if (!slot || slot->until <= wall_now()) return rules::SlotState{};
  return std::move(slot->state);
}

os::Result<os::Done> Memory::write_slot(const std::string& id, const rules::SlotState& state,
                                        Millis history) const {
  const auto records = Records::open(directory_, slots_file, os::Missing::create, longest_slots);
  if (!records) return records.error();
  auto index = index_of(*records, id);
  if (state.kind == State::none) {
    if (!index) return os::Done{};
    return records->write(*index, "");
  }
  // Slots are exclusive: whoever writes has the lock, so that no other one goes on.
  for (std::size_t i = 0; !index && i < records->size(); ++i) {
    if (is_past((*records)[i], wall_now())) index = i;
  }
  if (!index && records->size() >= most_slots) index = first_to_be_forgotten(*records);
  const auto until = wall_now() + rules::remembered_for(state.kind, history).count();
  return records->write(index.value_or(records->size()), text_of(SlotRecord{id, until, state}));
}

bool Memory::is_over() const {
  const auto runs = Records::open(directory_, runs_file, os::Missing::give_up, longest_runs);
  if (runs && !are_over(runs_in(*runs), directory_)) return false;
  const auto slots = Records::open(directory_, slots_file, os::Missing::give_up, longest_slots);
  for (std::size_t i = 0; slots && i < slots->size(); ++i) {
    if (!is_past((*slots)[i], wall_now())) return false;
  }
  return true;
}

void Memory::remove() const {
  directory_.remove(runs_file);
  directory_.remove(slots_file);
}

}  // namespace store::local
