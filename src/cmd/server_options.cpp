#include "cmd/server_options.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/log.hpp"
#include "base/text.hpp"
#include "os/core_limit.hpp"
#include "os/libraries.hpp"
#include "os/stdio.hpp"
#include "os/trusted_file.hpp"
#include "store/backend.hpp"

namespace cmd {
namespace {

constexpr base::Millis shortest_timeout{100};
constexpr base::Millis longest_timeout{60'000};

base::Millis longest_answer_in(const Settings& settings) {
  const auto setting = settings.value("connect-timeout");
  const auto length = duration_of(setting);
  if (length < shortest_timeout || length > longest_timeout) {
    throw not_accepted(setting, "100ms to 1m");
  }
  return length;
}

struct Password {
  base::Secret text;
  std::string source{};  // for messages
  std::string file{};    // that it came from
  bool is_of_config = false;
};

/// As redis-cli reads it; empty if there is none.
Password password_of_redis_cli() {
  const char* variable = std::getenv("REDISCLI_AUTH");
  return {base::Secret{variable == nullptr ? "" : variable}, "REDISCLI_AUTH"};
}

/// A variable may come from another user, if sudo keeps it, or be meant for one command: the server
/// that it names must not get the password of a file that another place names.
UsageError not_for_this_server(const Setting& file, const Setting& server) {
  return {ExitCode::bad_config,
          fmt::format("{}: its password is not sent to the server of {}; name a password file for "
                      "that server in {} (/dev/null: none), or give the server with --server",
                      file.source, server.source, variable_of("password-file"))};
}

/// The password of --password-file, else of REDISCLI_AUTH, for a URL that has none.
Password password_beside_the_url(const Settings& settings, const std::optional<Setting>& server,
                                 const store::ServerSpec& spec) {
  const auto file = settings.find("password-file");
  if (!file) return password_of_redis_cli();
  const bool is_of_config = file->origin == Setting::Origin::config;
  if (is_of_config && server && server->origin == Setting::Origin::environment) {
    auto password = password_of_redis_cli();
    const bool lacks = store::lacks_password(spec) && !store::looks_for_password(spec);
    if (password.text.empty() && lacks) {
      throw not_for_this_server(*file, *server);
    }
    return password;
  }
  const auto read = os::contents_of_secret(file->text);
  if (!read) {
    throw UsageError{ExitCode::bad_config,
                     fmt::format("{}: cannot use '{}': {}", file->source,
                                 base::printable(file->text), read.error().text())};
  }
  return {store::password_in(*read),
          fmt::format("the file '{}' ({})", base::printable(file->text), file->source), file->text,
          is_of_config};
}

std::string joined(const std::vector<std::string>& urls) {
  std::string text;
  for (const auto& each : urls) text += (text.empty() ? "" : " ") + each;
  return text;
}

/// A job finds the URL of a config file in RLOCK_SERVER without its password: for an rlock in that
/// job the file's own URL still counts.
std::optional<Setting> chosen_server(const Settings& settings) {
  auto chosen = settings.find("server");
  if (chosen && chosen->origin == Setting::Origin::command_line) {
    chosen->text = joined(settings.all("server"));
  }
  if (!chosen || chosen->origin != Setting::Origin::environment) return chosen;
  auto in_config = settings.in_config("server");
  const bool same = in_config && store::ServerUrl{in_config->text}.without_secret() == chosen->text;
  return same ? in_config : chosen;
}

using Parsed = base::Result<store::ServerSpec, store::BadUrl>;

/// If a server needs shared libraries that this program cannot load, another program takes over. Do
/// this first: a password file may be a pipe, which can be read only once.
void fetch_libraries(const std::vector<Parsed>& servers) {
  if (os::loads_libraries()) return;
  std::string_view taker;
  std::vector<std::string> hosts;
  for (const Parsed& each : servers) {
    if (!each) return;
    if (taker.empty()) taker = store::what_takes_libraries(*each);
    for (auto& host : store::hosts_of(*each)) hosts.push_back(std::move(host));
  }
  if (taker.empty() && !os::plugins_may_be_asked(hosts)) return;
  const auto why_not = os::become_other_program();
  // A name may be found without them.
  if (taker.empty()) return;
  throw UsageError{
      ExitCode::bad_config,
      fmt::format("{} needs shared libraries, which this program cannot load by itself: {}", taker,
                  why_not.text())};
}

/// A form to write in place of an invalid URL. The meaning of "host", "host:port" and "/path" is
/// plain, and they hold no secret. Nothing else is repeated.
std::string proposal(const store::ServerUrl& not_valid, const store::BadUrl& bad) {
  const std::string& url = not_valid.reveal();
  for (const std::string scheme : {"file:", "unix:"}) {
    if (url.starts_with(scheme)) return fmt::format("try {}///DIRECTORY/NAME", scheme);
  }
  const std::string of_hosts = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:";
  const auto colon = url.find(':');
  const auto behind = colon == url.npos ? "" : url.substr(colon + 1);
  const bool lacks_slashes = bad.has_known_scheme && behind.find('/') == behind.npos;
  if (lacks_slashes && !behind.empty() && behind.find_first_not_of(of_hosts) == behind.npos) {
    return fmt::format("try {}://{}", url.substr(0, colon), behind);
  }
  if (bad.has_known_scheme) return "rlock-servers(7) has the forms of URLs";
  if (url.starts_with('/') && url.find_first_not_of(of_hosts + "/_") == url.npos) {
    return fmt::format("try unix://{0} for the socket of a Redis, file:{0} for a directory", url);
  }
  const bool is_host = url.find_first_not_of(of_hosts) == url.npos;
  const auto& port = behind;
  if (is_host && colon != 0 && !url.empty() && not_valid.without_secret() == url &&
      port.find_first_not_of("0123456789") == port.npos && port.size() <= 5) {
    return fmt::format("try redis://{}", url);
  }
  return "try redis://HOST, or file: for locks on this host alone; rlock-servers(7) lists all "
         "forms";
}

/// The servers of the command line, for a line to copy: another command needs them as well. Empty
/// if they stand elsewhere.
std::string typed_servers(const Settings& settings) {
  std::string text;
  for (const auto& each : settings.all("server")) {
    const store::ServerUrl url{each};
    const bool has_secret = url.without_secret() != each;
    text += " -S " + (has_secret ? "URL" : base::shown_shell_word(each));
  }
  return text;
}

/// The source of the password in use, for messages.
std::string source_of(const Password& beside_the_url, const std::optional<Setting>& server,
                      bool url_lacks_it, bool client_looks) {
  if (!url_lacks_it && server) return "the URL in " + server->source;
  if (!beside_the_url.text.empty() && !(client_looks && beside_the_url.file.empty())) {
    return beside_the_url.source;
  }
  return client_looks ? "PGPASSWORD or the password file of libpq" : "";
}

}  // namespace

ServerChoice resolve_server(const Settings& settings) {
  const auto chosen = chosen_server(settings);
  const store::ServerUrl url{chosen ? chosen->text : settings.value("server").text};
  const auto urls = url.each();
  std::vector<Parsed> all_parsed;
  all_parsed.reserve(urls.size());
  for (const auto& each : urls) all_parsed.push_back(store::parse_server(each));
  fetch_libraries(all_parsed);
  settings.warn_of_unread_variables();
  std::vector<store::ServerSpec> servers;
  for (std::size_t i = 0; i < urls.size(); ++i) {
    auto& parsed = all_parsed[i];
    if (!parsed) {
      throw UsageError{
          ExitCode::bad_config,
          fmt::format("{}: '{}' is not valid ({}); {}", chosen->source, urls[i].shown(200),
                      parsed.error().why, proposal(urls[i], parsed.error()))};
    }
    servers.push_back(*std::move(parsed));
  }
  auto together = store::together(std::move(servers));
  if (!together) {
    throw UsageError{
        exit_code_for(*chosen),
        fmt::format("{}: '{}' is not valid ({}); expected one server, or an odd number "
                    "of independent Redis servers",
                    chosen->source, url.shown(400), together.error().why)};
  }
  ServerChoice choice{*std::move(together), url.shown(), std::nullopt, std::nullopt,
                      longest_answer_in(settings)};
  const auto password = password_beside_the_url(settings, chosen, choice.spec);
  const bool is_used = store::lacks_password(choice.spec);
  choice.password_source =
      source_of(password, chosen, is_used, store::looks_for_password(choice.spec));
  store::default_password(choice.spec, password.text, password.file);
  choice.typed = typed_servers(settings);
  if (chosen) {
    // A config file's secret stays there; argv and the environment can be seen anyway.
    const bool from_config = chosen->origin == Setting::Origin::config;
    choice.exported = from_config ? store::ServerUrl{url.without_secret()} : url;
    // To an rlock in the job the server of the command line is one of the environment.
    const bool from_words = chosen->origin == Setting::Origin::command_line;
    if (from_words && is_used && password.is_of_config) choice.exported_file = password.file;
  }
  return choice;
}

std::string ServerChoice::said_of(const store::Fault& fault) const {
  using Kind = store::Fault::Kind;
  const bool answered = fault.kind != Kind::unreachable && fault.kind != Kind::silent;
  const std::string_view what = answered ? "cannot use" : "cannot reach";
  const std::string why = fault.why + source_if_refused(fault.why);
  if (exported) return fmt::format("{} {}: {}", what, shown, why);
  return fmt::format(
      "{} {} (the default): {}; name your server with RLOCK_SERVER or --server, or add -S file: "
      "for a lock on this host alone",
      what, shown, why);
}

std::string ServerChoice::source_if_refused(std::string_view why) const {
  // As Redis 6 and newer, an older one, and PostgreSQL word it.
  constexpr std::array<std::string_view, 3> refusals{"WRONGPASS", "invalid password",
                                                     "password authentication failed"};
  const bool is_refusal =
      std::any_of(refusals.begin(), refusals.end(),
                  [&](std::string_view words) { return why.find(words) != why.npos; });
  if (!is_refusal) return "";
  if (password_source.empty()) return "; no password was given";
  return "; the password came from " + password_source;
}

void warn_of_default_server(const ServerChoice& server) {
  if (server.exported || os::stderr_is_terminal()) return;
  base::log::notice(
      "using the default server {}; set RLOCK_SERVER or --server to one that all hosts share",
      server.shown);
}

void require(const ServerChoice& server, store::Feature feature, std::string_view option) {
  if (store::can(server.spec, feature)) return;
  throw UsageError{
      ExitCode::usage,
      fmt::format(
          "{}: does not work with {}; rlock-servers(7) says which kinds of server can do it",
          option, server.shown)};
}

void scrub_argv(std::span<char*> words) {
  for (char* word : words) {
    const std::string_view text{word};
    if (text == "--") return;
    for (const auto& [begin, end] : store::secrets_in(text)) {
      std::fill(word + begin, word + end, '*');
    }
  }
}

void forbid_core_files() {
  os::forbid_core();
}

}  // namespace cmd
