#include "cmd/help_topics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "cmd/options.hpp"

namespace cmd {
namespace {

constexpr const char* slot_text =
    "--slot runs a job of several hosts once for each day, hour or commit.\n"
    "\n"
    "  rlock -k report --slot @day -w 2h -- ./report.sh    in each host's crontab\n"
    "  rlock -k deploy --slot \"$COMMIT\" -w 30m -- ./deploy  once for each commit\n"
    "\n"
    "@hour, @day, @week and @month are the period that contains now, in the host's\n"
    "time zone; any other text names a slot by itself.\n"
    "\n"
    "A slot is done when its run has ended, with any exit code. Other runs then do\n"
    "nothing and exit 0; at a terminal they say so. To run a job once more by hand,\n"
    "leave --slot out.\n"
    "A slot stays open if the host died, the lock was lost, or the command could not\n"
    "be started; the first waiter takes over, so give a --wait.\n"
    "\n"
    "  --retry N       a run that fails leaves the slot open, up to N times\n"
    "  --share         exit as the run of the slot did\n"
    "  --history DUR   how long the server remembers slots and runs\n"
    "\n"
    "See also: rlock log KEY, rlock overdue, man rlock-slots\n";

constexpr const char* exit_codes_text =
    "A run exits as its job does, or with one of these:\n"
    "\n"
    "  128+N  signal N ended the job, or the wait\n"
    "  64     usage error; nothing was touched\n"
    "  69     no lock server answers, or it cannot do what it was asked\n"
    "  70     a fault of rlock itself\n"
    "  71     the system refused a process, a descriptor or /proc\n"
    "  75     the lock is busy, or the wait ended; -E N changes the number\n"
    "  76     the lock was lost or the run was cancelled, and the job was stopped\n"
    "  77     the server refused the password or a permission\n"
    "  78     a bad configuration file or server URL\n"
    "  126    the command cannot be executed\n"
    "  127    the command was not found\n"
    "\n"
    "A job may exit with any of these numbers itself. A line on standard error that\n"
    "begins with 'rlock: ' tells the cases apart, and --status-file records them.\n"
    "\n"
    "See also: man rlock, EXIT STATUS\n";

constexpr const char* servers_text =
    "-S URL, RLOCK_SERVER or 'server = URL' in /etc/rlock.conf names the lock server.\n"
    "All hosts that exclude each other need the same one.\n"
    "\n"
    "  redis://HOST[:PORT][/DB]                Redis or Valkey; Cluster is recognised\n"
    "  rediss://HOST?cacert=FILE               the same over TLS\n"
    "  unix:///PATH/redis.sock                 the same on a Unix socket\n"
    "  redis+sentinel://HOST,HOST,HOST/MASTER  the master that Sentinel names\n"
    "  -S redis://A -S redis://B -S redis://C  a quorum of independent servers\n"
    "  postgresql://HOST/DATABASE              a table in PostgreSQL\n"
    "  etcd://HOST,HOST,HOST/PREFIX            etcd; etcds:// over TLS\n"
    "  zk://HOST,HOST,HOST/PATH                ZooKeeper\n"
    "  file:                                   one user on one host, without a server\n"
    "  file:///DIRECTORY                       the users of a directory on one host\n"
    "\n"
    "A password comes from --password-file, from REDISCLI_AUTH, or from the URL.\n"
    "rlock doctor tests whether a server is fit to hold locks.\n"
    "\n"
    "See also: man rlock-servers\n";

constexpr const char* files_text =
    "rlock reads options from the first of these that has them:\n"
    "\n"
    "  the command line\n"
    "  RLOCK_* variables                     see rlock help environment\n"
    "  $XDG_CONFIG_HOME/rlock/rlock.conf     the user's file, usually below ~/.config\n"
    "  /etc/rlock.conf                       the system's file\n"
    "\n"
    "With --config FILE or RLOCK_CONFIG, rlock reads that file and no other.\n"
    "\n"
    "A file has a 'name = value' on each line, with the long names of options:\n"
    "\n"
    "  server = redis://locks.example.net\n"
    "  password-file = /etc/rlock.password\n"
    "  ttl = 1m\n"
    "\n"
    "rlock refuses a file that others may write to, and a password that others may\n"
    "read.\n"
    "Locks of -S file: are in /run/lock/rlock-UID, those of root in /run/rlock.\n"
    "\n"
    "See also: man rlock.conf\n";

constexpr const char* signals_text =
    "rlock forwards signals to its job and exits when the job has ended.\n"
    "\n"
    "  TERM, INT        go to everything that the job started; a second one kills it\n"
    "  other signals    go to the command itself\n"
    "  KILL of rlock    a guardian kills the job before its lock can end\n"
    "  ^C, ^Z, fg       work as without rlock\n"
    "\n"
    "While rlock waits for a lock, a signal that ends it makes it leave the queue.\n"
    "If the lock is lost or the run is cancelled, the job gets TERM and, after\n"
    "--grace, KILL. rlock releases a lock when the whole tree of its job is gone.\n"
    "rlock works as process 1 of a container.\n"
    "\n"
    "See also: man rlock-limits, SIGNALS\n";

std::string environment_text() {
  std::string names;
  std::vector<std::string_view> seen;
  for (const Option& each : options) {
    const bool known = std::find(seen.begin(), seen.end(), each.name) != seen.end();
    if (each.from == From::command_line || known) continue;
    seen.push_back(each.name);
    names += (names.empty() ? "" : " ") + variable_of(each.name);
  }
  return fmt::format(
      "rlock reads these variables where the command line lacks the option:\n"
      "\n"
      "  {}\n"
      "  REDISCLI_AUTH                           a password, as redis-cli reads it\n"
      "  NO_COLOR                                no colours\n"
      "\n"
      "A job finds these:\n"
      "\n"
      "  RLOCK_KEY, RLOCK_TOKEN, RLOCK_FENCE     its lock; the fence always grows\n"
      "  RLOCK_FENCES                            lines KEY=FENCE, for several locks\n"
      "  RLOCK_PERMIT, RLOCK_RESOURCE            its permit of --permits or --one-of\n"
      "  RLOCK_SLOT, RLOCK_ATTEMPT               its slot, and which run of it this is\n"
      "  RLOCK_SERVER, RLOCK_HELD, RLOCK_HOLDS   for an rlock in the job\n"
      "\n"
      "See also: man rlock.conf, ENVIRONMENT\n",
      wrapped(names, 2));
}

constexpr const char* flock_text =
    "rlock -S file: locks on one host, as flock(1) does:\n"
    "\n"
    "  flock FILE CMD         rlock -S file: -k KEY -w forever -- CMD\n"
    "  flock -n FILE CMD      rlock -S file: -k KEY -- CMD\n"
    "  flock -w 10 FILE CMD   rlock -S file: -k KEY -w 10 -- CMD\n"
    "  flock -s FILE CMD      rlock -S file: -k KEY -s -w forever -- CMD\n"
    "\n"
    "With the URL of a server in the place of file:, all hosts respect the lock.\n"
    "Without --wait, rlock tries once and exits 75 if the lock is held.\n"
    "\n"
    "See also: man rlock-recipes, COMING FROM FLOCK\n";

std::string options_text() {
  return "Every command has these options:\n\n" + help_of_common() +
         "\nrlock help COMMAND shows the options of a command.\n";
}

struct OtherName {
  std::string_view word;
  std::string_view topic;
};
constexpr std::array other_names{
    OtherName{"slots", "slot"},           OtherName{"cron", "slot"},
    OtherName{"exit", "exit-codes"},      OtherName{"quorum", "servers"},
    OtherName{"exit-code", "exit-codes"}, OtherName{"exit-status", "exit-codes"},
    OtherName{"codes", "exit-codes"},     OtherName{"server", "servers"},
    OtherName{"url", "servers"},          OtherName{"urls", "servers"},
    OtherName{"file", "files"},           OtherName{"config", "files"},
    OtherName{"env", "environment"},      OtherName{"variables", "environment"},
    OtherName{"signal", "signals"},       OtherName{"option", "options"}};

}  // namespace

const std::vector<HelpTopic>& help_topics() {
  static const std::vector<HelpTopic> topics{
      {"slot", "run a job of several hosts once for each day, hour or commit"},
      {"exit-codes", "the meaning of each exit code"},
      {"servers", "the URL of each kind of lock server"},
      {"files", "configuration files"},
      {"environment", "variables that rlock reads and sets"},
      {"signals", "what a signal does to rlock and its job"},
      {"flock", "the same commands for flock(1) and for rlock"},
      {"options", "the options of every command"}};
  return topics;
}

std::optional<std::string> topic_text(const std::string& word) {
  std::string_view topic = word;
  for (const OtherName& each : other_names) {
    if (each.word == word) topic = each.topic;
  }
  if (topic == "slot") return slot_text;
  if (topic == "exit-codes") return exit_codes_text;
  if (topic == "servers") return servers_text;
  if (topic == "files") return files_text;
  if (topic == "environment") return environment_text();
  if (topic == "signals") return signals_text;
  if (topic == "flock") return flock_text;
  if (topic == "options") return options_text();
  if (auto row = help_of_option(topic.substr(std::min(topic.find_first_not_of('-'), topic.size())));
      !row.empty()) {
    return row + "\nSee also: man rlock, OPTIONS\n";
  }
  return std::nullopt;
}

}  // namespace cmd
