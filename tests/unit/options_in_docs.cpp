// The pages and the table agree about options.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "cmd/options.hpp"
#include "store/url.hpp"

namespace unit::options_in_docs {

using cmd::From;
using cmd::Option;
namespace of = cmd::of;
using Words = std::vector<std::string>;

namespace {

Words lines_in(const char* file) {
  std::ifstream in{std::string{RLOCK_SOURCE_DIR} + "/" + file};
  Words lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  REQUIRE(lines.size() > 40);
  return lines;
}

/// Behind this heading, to the next one.
Words section(const Words& lines, const std::string& from) {
  Words part;
  bool inside = false;
  for (const auto& line : lines) {
    if (inside && (line.starts_with(".Ss") || line.starts_with(".Sh"))) return part;
    if (inside) part.push_back(line);
    inside = inside || line == from;
  }
  FAIL("no section " << from);
  return part;
}

Words words_of(const std::string& line) {
  std::istringstream in{line};
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// ".It Fl t Ar duration , Fl -ttl Ar duration" is "-t, --ttl duration".
std::string as_in_help(const std::string& item) {
  std::string letter;
  std::string name;
  std::string argument;
  const auto words = words_of(item);
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (words[i] == "Fl" && words[i + 1].size() == 1) letter = "-" + words[i + 1];
    if (words[i] == "Fl" && words[i + 1].size() > 1) name = "-" + words[i + 1];
    if (words[i] == "Ar") argument = " " + words[i + 1];
    if (words[i] == "Cm")
      argument =
          " " + fmt::format("{}", fmt::join(words.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                            words.end(), ""));
  }
  return letter + (letter.empty() || name.empty() ? "" : ", ") + name + argument;
}

/// The same of a row; the page has words where --help has DUR.
std::string as_in_help(const Option& option) {
  static const std::map<std::string_view, std::string> arguments{
      {"", ""},          {"DUR", " duration"}, {"N", " number"},
      {"KEY", " key"},   {"URL", " url"},      {"FILE", " file"},
      {"TEXT", " text"}, {"TOKEN", " token"},  {"STRING", " string"},
      {"ID", " id"},     {"NAME", " name"},    {"NAME[,NAME]...", " name"}};
  const std::string letter = option.letter == 0 ? "" : std::string{'-', option.letter};
  const std::string name = option.has_long_form() ? fmt::format("--{}", option.name) : "";
  const std::string argument = option.name == "conflict-exit-code" ? " code"
                               : option.argument.find('|') != std::string::npos
                                   ? fmt::format(" {}", option.argument)
                                   : arguments.at(option.argument);
  return letter + (letter.empty() || name.empty() ? "" : ", ") + name + argument;
}

std::set<std::string> items(const Words& page, const std::string& heading) {
  std::set<std::string> all;
  for (const auto& line : section(page, heading)) {
    if (line.starts_with(".It Fl")) all.insert(as_in_help(line));
  }
  REQUIRE(!all.empty());
  return all;
}

}  // namespace

TEST_CASE(
    "the man pages show each option's letter and argument where its command is, and no other") {
  const auto run = lines_in("man/rlock.1");
  const auto everywhere = items(run, ".Ss Options of every command");
  std::set<std::string> of_a_run;
  for (const char* heading : {".Ss The lock", ".Ss Waiting", ".Ss Slots", ".Ss The job"}) {
    of_a_run.merge(items(run, heading));
  }
  struct Shown {
    cmd::Commands command;
    const char* page;
    const char* heading;
  };
  const std::vector<Shown> commands{
      {of::run, "rlock", ""},
      {of::inspect, "rlock-inspect", ".Ss Options of inspect"},
      {of::list, "rlock-inspect", ".Ss Options of list"},
      {of::log, "rlock-inspect", ".Ss Options of log"},
      {of::overdue, "rlock-inspect", ".Ss Options of overdue"},
      {of::cancel, "rlock-cancel", ".Ss Options of cancel"},
      {of::force_release, "rlock-cancel", ".Ss Options of force-release"},
      {of::acquire, "rlock-acquire", ".Ss Options of acquire"},
      {of::steps, "rlock-acquire", ".Ss Options of refresh, release and check"},
      {of::doctor, "rlock-doctor", ".Ss Options of doctor"}};
  for (const auto& [command, page, heading] : commands) {
    CAPTURE(page);
    CAPTURE(heading);
    const auto shown = command == of::run
                           ? of_a_run
                           : items(lines_in(fmt::format("man/{}.1", page).c_str()), heading);
    std::set<std::string> rows;
    for (const Option* each : cmd::options_of(command)) {
      const auto row = as_in_help(*each);
      CAPTURE(row);
      rows.insert(row);
      // rlock(1) explains the options that acquire has in common with a run.
      CHECK((shown.contains(row) || everywhere.contains(row) || of_a_run.contains(row)));
    }
    for (const auto& each : shown) {
      CAPTURE(each);
      CHECK((rows.contains(each) || everywhere.contains(each)));
    }
  }
}

TEST_CASE("rlock.conf(5) has each option's variable, and the list of those that have none") {
  const auto page = lines_in("man/rlock.conf.5");
  std::set<std::string> read;
  for (const auto& line : section(page, ".Ss Inputs")) {
    if (!line.starts_with(".It Ev")) continue;
    for (auto& word : words_of(line)) {
      if (word.starts_with("RLOCK_") && word != "RLOCK_BIN") read.insert(word);
    }
  }
  std::set<std::string> without;
  for (const auto& line : section(page, ".Ss Options without a variable")) {
    if (!line.starts_with(".Fl")) continue;
    for (const auto& word : words_of(line)) {
      if (word.starts_with('-')) without.insert(word.substr(1));
      if (word == "c") without.insert(word);
    }
  }
  std::set<std::string> variables;
  std::set<std::string> none;
  for (const Option& each : cmd::options) {
    if (each.from != From::command_line) variables.insert(cmd::variable_of(each.name));
  }
  for (const Option& each : cmd::options) {
    const bool has_one = variables.contains(cmd::variable_of(each.name));
    if (!has_one && each.name != "help" && each.name != "version") none.emplace(each.name);
  }
  variables.erase("RLOCK_TOKEN");  // among the outputs
  CHECK(fmt::format("{}", fmt::join(read, " ")) == fmt::format("{}", fmt::join(variables, " ")));
  CHECK(fmt::format("{}", fmt::join(without, " ")) == fmt::format("{}", fmt::join(none, " ")));
}

TEST_CASE("the man pages say the default of each option that has one") {
  Words page;
  for (const char* file : {"man/rlock.1", "man/rlock-inspect.1", "man/rlock-cancel.1",
                           "man/rlock-acquire.1", "man/rlock-servers.7"}) {
    for (auto& line : lines_in(file)) page.push_back(std::move(line));
  }
  const std::map<std::string_view, std::string> in_words{
      {"min(5s, TTL/6)", "The default is 5 seconds or a sixth of"},
      {"RLOCK_KEY, or all of RLOCK_FENCES",
       "By default .Ev RLOCK_KEY , or the keys of .Ev RLOCK_FENCES"},
      {"RLOCK_TOKEN", "by default .Ev RLOCK_TOKEN"},
      {"stop", ".Cm stop , the default"},
      {"auto", ".Cm auto , the default"},
      {"redis://127.0.0.1:6379", "Without a URL the server is .Ql redis://127.0.0.1:6379"}};
  const std::string text = fmt::format("{}", fmt::join(page, " "));
  for (const Option& each : cmd::options) {
    if (each.standard.empty() || each.standard == "0") continue;
    CAPTURE(each.name);
    const auto words = in_words.find(each.standard);
    if (words != in_words.end()) {
      CHECK(text.find(words->second) != std::string::npos);
      continue;
    }
    // The text about the option, up to the next one.
    bool said = false;
    bool inside = false;
    for (const auto& line : page) {
      if (line.starts_with(".It "))
        inside = line.find(fmt::format("Fl -{} ", each.name)) != std::string::npos;
      said = said || (inside && line.find("default") != std::string::npos &&
                      line.find(each.standard) != std::string::npos);
    }
    CHECK(said);
  }
}

TEST_CASE("rlock-servers(7) has each option that may stand in a URL, and no other") {
  std::set<std::string> known;  // but for libpq's, which its own documentation has
  for (const auto& each : store::url_options) {
    if (each.group != store::UrlOption::Group::libpq) known.emplace(each.name);
  }
  // "?db=N", "&cert=FILE", "Ql insecure-skip-verify=yes": a name between one of these and a '='.
  std::set<std::string> shown;
  for (const auto& line : lines_in("man/rlock-servers.7")) {
    if (line.find("://") == std::string::npos && line.find("Ql ") == std::string::npos) continue;
    if (line.find("postgresql://") != std::string::npos) continue;
    for (auto equals = line.find('='); equals != std::string::npos;
         equals = line.find('=', equals + 1)) {
      const auto begin = line.find_last_not_of("abcdefghijklmnopqrstuvwxyz-", equals - 1);
      if (begin == std::string::npos || begin + 1 == equals) continue;
      const auto name = line.substr(begin + 1, equals - begin - 1);
      const bool in_query = line[begin] == '?' || line[begin] == '&';
      if (in_query || known.contains(name)) shown.insert(name);
    }
  }
  CHECK(fmt::format("{}", fmt::join(shown, " ")) == fmt::format("{}", fmt::join(known, " ")));
}

}  // namespace unit::options_in_docs
