#include "store/local/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/digest.hpp"
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

using rules::LockState;
using rules::RememberedRun;
using rules::RememberedSlot;
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

// The time that run_in() takes for now: later than all, so that it cuts no time off at now.
constexpr WallTime later = WallTime{1} << 52;

std::optional<RememberedRun> remembered_in(std::string_view line) {
  auto run = run_in(line, later, false);
  if (!run) return std::nullopt;
  const WallTime granted = later - run->granted_ago.count();
  RememberedRun remembered{std::move(run->token), run->fence,           granted,
                           run->waited,           std::move(run->slot), run->attempt,
                           std::move(run->reason)};
  if (run->held) {
    remembered.end = {granted + run->held->count(), run->outcome, std::move(run->why)};
  }
  return remembered;
}

/// The first fields of a record, read without its checksum.
struct RunHead {
  std::size_t index;
  Fence fence;
  std::string_view token;
};

std::optional<RunHead> head_in(std::size_t index, std::string_view record) {
  auto line = line_in(record);
  (void)next_field(line);
  const auto fence = base::number_in<std::uint64_t>(next_field(line));
  if (!fence) return std::nullopt;
  return RunHead{index, *fence, next_field(line)};
}

std::optional<RunRecord> run_record_in(std::size_t index, std::string_view record) {
  auto line = text_in(record);
  if (!line) return std::nullopt;
  const auto history = base::number_in<std::uint64_t>(next_field(*line));
  auto run = history ? remembered_in(*line) : std::nullopt;
  if (!run) return std::nullopt;
  return RunRecord{index, Millis{wall_time(*history)}, std::move(run)};
}

std::string text_of(Millis history, const RememberedRun& run) {
  auto text = fmt::format("{}\t{}\t{}\t{}\t{}\t{}", history.count(), run.fence, run.token.text(),
                          run.granted, fields_of_claim(run.waited, run.slot),
                          run.attempt == 0 ? "" : std::to_string(run.attempt));
  if (run.end) {
    text += fmt::format("\t{}\t{}", run.end->at, fields_of_end({run.end->outcome, run.end->why}));
  }
  return text + '\t' + run.reason;
}

/// The first place that is not among the `taken`.
std::size_t free_place(const std::vector<std::size_t>& taken) {
  std::size_t place = 0;
  while (std::find(taken.begin(), taken.end(), place) != taken.end()) ++place;
  return place;
}

bool is_one_of(const std::vector<rules::Hold>& holders, std::string_view token) {
  return std::any_of(holders.begin(), holders.end(),
                     [&](const rules::Hold& each) { return each.token.text() == token; });
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
  auto record = fmt::format("{:016x}\t{}\n", base::digest(text), text);
  record.resize(record_length - 1, ' ');
  return record + '\n';
}

std::optional<std::string_view> text_in(std::string_view record) {
  if (record.size() != record_length) return std::nullopt;
  const auto text = line_in(record);
  std::uint64_t checksum = 0;
  const char* const end = record.data() + checksum_length;
  const auto [stop, error] = std::from_chars(record.data(), end, checksum, 16);
  const bool is_whole = error == std::errc{} && stop == end && record[checksum_length] == '\t';
  if (text.empty() || !is_whole || checksum != base::digest(text)) return std::nullopt;
  return text;
}

std::string text_of(const RememberedSlot& slot) {
  const auto& state = slot.state;
  auto text = fmt::format("{}\t{}\t{}\t{}\t{}\t{}", slot.id, slot.ends, name_of(state.kind),
                          state.runs.attempt, state.runs.failures, state.token);
  if (state.is_done()) {
    text += fmt::format("\t{} {}\t{}\t{}", store::name_of(state.outcome.kind), state.outcome.number,
                        state.ended_ms, state.fence);
  } else if (!state.before.empty()) {
    text += '\t' + state.before;
  }
  return text;
}

std::optional<RememberedSlot> slot_in(std::string_view text) {
  const auto id = next_field(text);
  const auto until = base::number_in<std::uint64_t>(next_field(text));
  const auto state = state_in(next_field(text));
  const auto attempt = base::number_in<unsigned>(next_field(text));
  const auto failures = base::number_in<unsigned>(next_field(text));
  const auto token = next_field(text);
  if (!until || !state || !attempt || !failures) return std::nullopt;
  RememberedSlot slot{
      std::string{id}, {*state, {*attempt, *failures}, std::string{token}}, wall_time(*until)};
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

std::vector<RunRecord> Memory::runs(const std::vector<rules::Hold>& holders,
                                    std::size_t newest) const {
  const auto records = Records::open(directory_, runs_file, os::Missing::give_up, longest_runs);
  std::vector<RunHead> heads;
  for (std::size_t i = 0; records && i < records->size(); ++i) {
    if (const auto head = head_in(i, (*records)[i])) heads.push_back(*head);
  }
  // Fences grow with each grant.
  std::sort(heads.begin(), heads.end(),
            [](const RunHead& a, const RunHead& b) { return a.fence > b.fence; });
  std::vector<RunRecord> found;
  found.reserve(heads.size());
  bool one_goes_on = false;
  for (const RunHead& each : heads) {
    const bool holds = is_one_of(holders, each.token);
    if (found.size() >= newest && !holds) {
      found.push_back({each.index, Millis{0}, std::nullopt});
    } else if (auto run = run_record_in(each.index, (*records)[each.index])) {
      one_goes_on = one_goes_on || (holds && !run->run->end);
      found.push_back(*std::move(run));
    }
  }
  // The newest run says for how long the runs are kept; the file says since when.
  const bool are_over = !found.empty() && directory_.unchanged_for(runs_file).value_or(Millis{0}) >
                                              found.front().history;
  if (are_over && !one_goes_on) found.clear();
  return found;
}

void Memory::write_runs(const std::vector<RunRecord>& found, const LockState& before,
                        const LockState& after) const {
  if (after.runs == before.runs) return;
  const auto open = [&] {
    return directory_.open_file(runs_file, os::Missing::create, longest_runs);
  };
  auto file = open();
  // Expired runs must not come back with the new one.
  if (before.runs.empty() && (file || file.error().number == EFBIG)) {
    directory_.remove(runs_file);
    file = open();
  }
  if (!file) return;
  const auto write = [&](std::size_t index, std::string_view text) {
    (void)os::overwrite(*file, index * record_length, record_of(text));
  };
  const auto same_in = [](const std::vector<RememberedRun>& runs, const RememberedRun& run) {
    return std::find_if(runs.begin(), runs.end(), [&](const RememberedRun& each) {
      return each.granted == run.granted && each.token == run.token;
    });
  };
  const Millis history{std::max<WallTime>(after.runs_end - wall_now(), 0)};
  const bool one_was_none = after.runs.size() < before.runs.size();
  std::vector<std::size_t> taken;
  for (const RunRecord& each : found) {
    const auto now = each.run ? same_in(after.runs, *each.run) : after.runs.end();
    const bool stays = now != after.runs.end();
    if (stays || !each.run) taken.push_back(each.index);
    if (stays && *now != *each.run) write(each.index, text_of(history, *now));
    if (!stays && each.run && one_was_none) write(each.index, "");
  }
  for (const RememberedRun& each : after.runs) {
    if (same_in(before.runs, each) != before.runs.end()) continue;
    // If the file is full, replace the oldest.
    const bool full = taken.size() >= rules::remembered_runs;
    write(full ? found.back().index : free_place(taken), text_of(history, each));
  }
}

void Memory::touch_runs() const {
  directory_.touch(runs_file);
}

os::Result<std::optional<RememberedSlot>> Memory::slot(const std::string& id) const {
  std::optional<RememberedSlot> none;
  const auto records = Records::open(directory_, slots_file, os::Missing::give_up, longest_slots);
  if (!records && records.error().number == ENOENT) return none;
  if (!records) return records.error();
  const auto index = index_of(*records, id);
  const auto text = index ? text_in((*records)[*index]) : std::nullopt;
  auto slot = text ? slot_in(*text) : std::nullopt;
  return slot && slot->ends > wall_now() ? slot : none;
}

os::Result<os::Done> Memory::write_slot(const RememberedSlot& slot) const {
  const auto records = Records::open(directory_, slots_file, os::Missing::create, longest_slots);
  if (!records) return records.error();
  auto index = index_of(*records, slot.id);
  // Slots are exclusive: the writer holds the lock, so no other run is active.
  for (std::size_t i = 0; !index && i < records->size(); ++i) {
    if (is_past((*records)[i], wall_now())) index = i;
  }
  if (!index && records->size() >= most_slots) index = first_to_be_forgotten(*records);
  return records->write(index.value_or(records->size()), text_of(slot));
}

os::Result<os::Done> Memory::erase_slot(const std::string& id) const {
  const auto records = Records::open(directory_, slots_file, os::Missing::give_up, longest_slots);
  if (!records && records.error().number == ENOENT) return os::Done{};
  if (!records) return records.error();
  const auto index = index_of(*records, id);
  return index ? records->write(*index, "") : os::Done{};
}

bool Memory::is_over() const {
  if (!runs({}, 1).empty()) return false;
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
