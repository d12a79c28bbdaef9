#include "cmd/status_file.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "cmd/json.hpp"
#include "cmd/present.hpp"
#include "hold/progress.hpp"
#include "os/error.hpp"
#include "os/file.hpp"
#include "os/host.hpp"

namespace cmd {
namespace {

using Outcome = RunRecord::Outcome;

// The keys fill most of it: 128 KiB at most, as they are in one variable of the job, and JSON takes
// up to six characters for a byte. A longer file is no record.
constexpr std::size_t longest_record = std::size_t{1} << 20;

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::ran: return "ran";
    case Outcome::not_started: return "not-started";
    case Outcome::busy: return "busy";
    case Outcome::mismatch: return "mismatch";
    case Outcome::lost: return "lost";
    case Outcome::stopped: return "stopped";
    case Outcome::done: return "done";
    case Outcome::interrupted: return "interrupted";
    case Outcome::failed: break;
  }
  return "failed";
}

/// RFC 3339, in UTC and with milliseconds.
std::string timestamp(RunRecord::WallClock::time_point moment) {
  const auto ms = std::chrono::time_point_cast<base::Millis>(moment);
  const auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(ms);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(RunRecord::WallClock::to_time_t(seconds)), (ms - seconds).count());
}

std::int64_t ms_between(base::Moment from, base::Moment to) {
  return std::chrono::duration_cast<base::Millis>(to - from).count();
}

Json job_of(const RunRecord& record) {
  if (!record.job) return nullptr;
  const bool signalled = record.job->signalled();
  Json job;
  job["exit_code"] = signalled ? Json(nullptr) : Json(record.job->code());
  job["signal"] = signalled ? Json(record.job->signal()) : Json(nullptr);
  return job;
}

/// The run that did the slot: its owner, time and outcome.
Json done_of(const store::SlotDone& done) {
  Json json;
  json["token"] = done.by.text();
  json["fence"] = done.fence;
  json["ended_ms_ago"] = done.ended_ago.count();
  add_outcome(json, done.outcome);
  return json;
}

/// Every key that was wanted; those that were acquired come first, with their fences.
Json keys_of(const RunRecord& record) {
  Json keys = Json::array();
  for (std::size_t i = 0; i < record.keys.size(); ++i) {
    Json entry;
    entry["key"] = record.keys[i].text();
    const auto* lease = i < record.leases.size() ? &record.leases[i] : nullptr;
    entry["fence"] = lease != nullptr ? Json(lease->fence) : Json(nullptr);
    const bool has_permit = lease != nullptr && lease->permit > 0;
    entry["permit"] = has_permit ? Json(lease->permit) : Json(nullptr);
    const bool has_name = has_permit && !lease->resource.empty();
    entry["resource"] = has_name ? Json(lease->resource) : Json(nullptr);
    keys.push_back(std::move(entry));
  }
  return keys;
}

}  // namespace

void note(RunRecord& record, const hold::NotAcquired& not_acquired) {
  base::match(
      not_acquired,
      [&](const hold::GaveUp& gave_up) {
        record.outcome = Outcome::busy;
        record.why = hold::describe(gave_up.holder);
      },
      [&](const hold::Dismissed& dismissed) {
        record.outcome = Outcome::busy;
        record.why = dismissed.why;
      },
      [&](const hold::Incompatible& incompatible) {
        record.outcome = Outcome::mismatch;
        record.why = "used in another way by " + incompatible.conflict.token.shown();
      },
      [&](const hold::AlreadyDone& found) {
        record.outcome = Outcome::done;
        record.done = found.done;
        record.why = shown_done(found.done);
      },
      [&](const hold::Interrupted& interrupted) {
        record.outcome = Outcome::interrupted;
        record.why = fmt::format("signal {}", interrupted.signal);
      },
      [&](const store::Fault& fault) {
        record.outcome = Outcome::failed;
        record.why = fault.why;
      });
}

std::string status_text(const RunRecord& record, int exit_code, base::Moment now) {
  const bool acquired = !record.leases.empty();
  Json json;
  json["outcome"] = name_of(record.outcome);
  json["exit_code"] = exit_code;
  json["job"] = job_of(record);
  json["key"] = record.keys.front().text();
  json["fence"] = acquired ? Json(record.leases.front().fence) : Json(nullptr);
  json["keys"] = keys_of(record);
  json["token"] = acquired ? Json(record.leases.front().token.text()) : Json(nullptr);
  json["server"] = record.server;
  json["host"] = os::host_name();
  // The end is reckoned from the beginning, so that a clock that was set shows no time that passed.
  json["started_at"] = timestamp(record.began_at);
  json["ended_at"] =
      timestamp(record.began_at + std::chrono::duration_cast<base::Millis>(now - record.began));
  json["waited_ms"] = ms_between(record.began, record.granted.value_or(now));
  json["held_ms"] = record.granted ? Json(ms_between(*record.granted, record.ended.value_or(now)))
                                   : Json(nullptr);
  json["slot"] = or_null(record.slot);
  const unsigned attempt =
      record.done ? record.done->attempt : (acquired ? record.leases.front().attempt : 0);
  json["attempt"] = attempt > 0 ? Json(attempt) : Json(nullptr);
  json["done"] = record.done ? done_of(*record.done) : Json(nullptr);
  json["lost_why"] = or_null(record.lost_why);
  json["why"] = or_null(record.why);
  return dumped(json);
}

bool is_of_a_run_with_locks(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  return json.is_object() && json.contains("token") && json["token"].is_string();
}

void save(const RunRecord& record, const std::optional<std::string>& file, int exit_code) {
  if (!file) return;
  if (record.outcome == Outcome::busy && os::is_regular_file(*file)) {
    const auto earlier = os::contents_of(*file, longest_record);
    if (earlier && is_of_a_run_with_locks(*earlier)) return;
  }
  const auto written = os::replace_contents(*file, status_text(record, exit_code, base::now()));
  if (!written) {
    base::log::error("--status-file: cannot write '{}': {}", base::printable(*file),
                     written.error().text());
  }
}

}  // namespace cmd
