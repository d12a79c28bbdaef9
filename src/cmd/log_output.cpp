#include "cmd/log_output.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <cctype>

#include "base/result.hpp"
#include "cmd/json.hpp"
#include "os/journal.hpp"

namespace cmd {
namespace {

using base::log::Level;
using base::log::Severity;

/// 1 for --verbose, 2 for -vv.
unsigned verbosity(const Settings& settings) {
  if (settings.on_command_line("verbose")) return settings.times("verbose") > 1 ? 2 : 1;
  const auto setting = settings.find("verbose");
  if (!setting) return 0;
  if (setting->text == "2") return 2;
  const auto answer = yes_or_no(setting->text);
  if (!answer) throw not_accepted(*setting, "0, 1 or 2, or yes or no");
  return *answer ? 1 : 0;
}

Level level_in(const Settings& settings) {
  const bool quiet = settings.is_on("quiet");
  const unsigned verbose = verbosity(settings);
  const Level loud = verbose == 2 ? Level::trace : Level::verbose;
  if (!quiet) return verbose == 0 ? Level::normal : loud;
  if (verbose == 0) return Level::quiet;
  // The command line has precedence over a config file, which is for every day.
  const auto one = *settings.find("quiet");
  const auto other = *settings.find("verbose");
  if (other.goes_before(one)) return loud;
  if (!one.goes_before(other)) {
    throw UsageError{exit_code_for(one),
                     fmt::format("{} and {} contradict each other", one.source, other.source)};
  }
  return Level::quiet;
}

/// The words and numbers of syslog(3), which the journal uses as well.
const char* level_of(Severity severity) {
  switch (severity) {
    case Severity::error: return "error";
    case Severity::notice: return "notice";
    case Severity::detail: return "info";
    case Severity::trace: break;
  }
  return "debug";
}

const char* priority_of(Severity severity) {
  switch (severity) {
    case Severity::error: return "3";
    case Severity::notice: return "5";
    case Severity::detail: return "6";
    case Severity::trace: break;
  }
  return "7";
}

/// RFC 3339, in UTC and with milliseconds.
std::string timestamp() {
  using std::chrono::system_clock;
  const auto now = std::chrono::floor<base::Millis>(system_clock::now());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(system_clock::to_time_t(seconds)),
                     (now - seconds).count());
}

std::optional<std::string> to_journal(const base::log::Record& record) {
  if (os::send_to_journal(as_journal_entry(record))) return std::nullopt;
  return fmt::format("rlock: {}\n", record.text);  // its stream may still be read
}

}  // namespace

void set_log_keys(const std::vector<store::LockName>& keys) {
  std::string all;
  for (const auto& key : keys) all += (all.empty() ? "" : "\n") + key.text();
  base::log::set_common_fields({{"key", std::move(all)}});
}

std::string as_json_line(const base::log::Record& record) {
  Json json;
  json["time"] = timestamp();
  json["level"] = level_of(record.severity);
  json["event"] = record.event;
  for (const auto& [name, value] : record.fields) {
    std::visit([&, key = std::string{name}](const auto& its) { json[key] = its; }, value);
  }
  json["message"] = record.text;
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string as_journal_entry(const base::log::Record& record) {
  std::vector<std::pair<std::string, std::string>> fields{
      {"MESSAGE", std::string{record.text}},
      {"PRIORITY", priority_of(record.severity)},
      {"SYSLOG_IDENTIFIER", "rlock"},
      {"RLOCK_EVENT", std::string{record.event}}};
  for (const auto& [name, value] : record.fields) {
    std::string upper{"RLOCK_"};
    for (const char c : name)
      upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    fields.emplace_back(upper, base::match(
                                   value, [](const std::string& text) { return text; },
                                   [](std::int64_t number) { return std::to_string(number); }));
  }
  return os::journal_entry(fields);
}

void log_as_json() {
  base::log::set_writer([](const base::log::Record& record) -> std::optional<std::string> {
    return as_json_line(record);
  });
}

void set_up_log(const Settings& settings) {
  base::log::set_level(level_in(settings));
  if (settings.is_on("log-json")) {
    log_as_json();
  } else if (os::stderr_is_journal()) {
    base::log::set_writer(to_journal);
  }
}

}  // namespace cmd
