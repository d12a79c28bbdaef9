// Every option of every command: one row here is all that the command line, --help, RLOCK_*
// variables and config files know of it. What it means is read in one place, by its command.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace cmd {

/// Which commands have an option, as bits.
using Commands = unsigned;
namespace of {
inline constexpr Commands run = 1, acquire = 2, refresh = 4, release = 8, check = 16, inspect = 32,
                          list = 64, cancel = 128, force_release = 256, doctor = 512, log = 1024,
                          overdue = 2048, metrics = 4096;
inline constexpr Commands claims = run | acquire, steps = refresh | release | check,
                          tables = inspect | list | force_release | doctor | log,
                          all = claims | steps | inspect | list | cancel | force_release | doctor |
                                log | overdue | metrics;
}  // namespace of

/// Where a value may come from, besides the command line.
enum class From {
  command_line,  // only: it is about this one run, and a job hands its environment on to others
  environment,
  anywhere  // config files, too
};

/// The headings of --help, in its order.
enum class Group { lock, waiting, job, result, server, general };

struct Option {
  std::string_view name;      // as after "--"; of one letter: "-c" is all there is
  char letter;                // 0: none
  std::string_view argument;  // what --help calls the value; empty for a flag
  std::string_view standard;  // the default; for people, unless Settings::value() reads it
  From from;
  Group group;
  Commands commands;
  std::string_view help;
  bool repeated = false;  // may be given several times; otherwise the last one counts
  // What it means without a value, which can be given behind a '=' only; empty: it needs one.
  std::string_view bare{};

  [[nodiscard]] constexpr bool takes_value() const { return !argument.empty(); }
  [[nodiscard]] constexpr bool has_long_form() const { return name.size() > 1; }
};

// The default TTL: long enough that a restart of the server or a slow minute of the host does not
// stop a job, short enough that a crashed host's job is taken over while somebody still looks at
// the clock. The default wait of cancel and force-release: a job that was told to stop has its
// grace, 5 s by default, and then is killed.
// clang-format off
inline constexpr std::array options{
    Option{"key", 'k', "KEY", "", From::command_line, Group::lock, of::claims,
           "the lock to take; repeat it to take several, all or none", true},
    Option{"key", 'k', "KEY", "RLOCK_KEY, or all of RLOCK_FENCES", From::command_line, Group::lock, of::steps,
           "the lock", true},
    Option{"key", 'k', "KEY", "", From::command_line, Group::lock,
           of::inspect | of::cancel | of::force_release | of::doctor | of::log | of::overdue,
           "the lock, instead of the operand KEY"},
    Option{"token", 0, "TOKEN", "RLOCK_TOKEN", From::environment, Group::lock, of::steps,
           "the token that holds the lock"},
    Option{"token", 0, "TOKEN", "", From::command_line, Group::lock, of::cancel | of::force_release,
           "only the holder with this token, if there are several"},
    Option{"ttl", 't', "DUR", "30s", From::anywhere, Group::lock, of::run,
           "length of the lease, at least 100ms; refreshed every third of it"},
    Option{"ttl", 't', "DUR", "", From::anywhere, Group::lock, of::acquire,
           "how long to hold the lock, unless it is refreshed; required"},
    Option{"ttl", 't', "DUR", "", From::anywhere, Group::lock, of::refresh,
           "how long to hold the lock from now on; required"},
    Option{"at-least", 0, "DUR", "0", From::command_line, Group::lock, of::check,
           "also require that DUR of the lease is left"},
    Option{"exclusive", 'x', "", "", From::command_line, Group::lock, of::claims,
           "hold the lock alone, as a writer (the default)"},
    Option{"shared", 's', "", "", From::command_line, Group::lock, of::claims,
           "share the lock with other readers"},
    Option{"permits", 0, "N", "1", From::command_line, Group::lock, of::claims,
           "let N hold the lock at once; RLOCK_PERMIT is the number of this one, from 1 to N"},
    Option{"one-of", 0, "NAME[,NAME]...", "", From::command_line, Group::lock, of::claims,
           "hold one of these names, each for one holder at a time; RLOCK_RESOURCE is its name"},
    Option{"min-hold", 0, "DUR", "", From::anywhere, Group::lock, of::run,
           "keep the lock for DUR after the grant, even if the job ends sooner"},
    Option{"max-hold", 0, "DUR", "", From::anywhere, Group::lock, of::run,
           "stop the job so that it is gone DUR after the grant; exit code 76"},
    Option{"sync-replicas", 0, "N", "0", From::anywhere, Group::lock, of::claims,
           "take the lock only if N replicas confirm it"},
    Option{"label", 0, "TEXT", "", From::anywhere, Group::lock, of::claims,
           "what others see instead of the command's name"},
    Option{"reason", 0, "TEXT", "", From::command_line, Group::lock, of::claims,
           "what others see when they ask who holds the lock"},

    Option{"slot", 0, "ID", "", From::command_line, Group::lock, of::run,
           "run once for ID, or once per @day, @hour, @week, @month or @15m of this host's clock; later runs do "
           "nothing and exit 0"},
    Option{"retry", 0, "N", "0", From::anywhere, Group::lock, of::run,
           "if the run of a slot fails, allow N more"},
    Option{"share", 0, "", "", From::command_line, Group::lock, of::run,
           "if the slot is done, exit with its exit code"},

    Option{"wait", 'w', "DUR", "0", From::anywhere, Group::waiting, of::claims,
           "wait in the queue for up to DUR, or 'forever'; 0 tries once"},
    Option{"wait", 0, "DUR", "10s", From::command_line, Group::waiting, of::cancel,
           "how long to wait for the release"},
    Option{"wait", 0, "DUR", "10s", From::command_line, Group::waiting, of::force_release,
           "how long to wait until the holder says that its job has stopped"},
    Option{"nonblock", 'n', "", "", From::command_line, Group::waiting, of::claims,
           "the same as --wait 0"},
    Option{"max-waiters", 0, "N", "", From::anywhere, Group::waiting, of::claims,
           "do not wait if N are waiting already"},
    Option{"supersede", 0, "all|waiting", "", From::anywhere, Group::waiting, of::claims,
           "newest wins: stop the holder, send older waiters away, go next; =waiting leaves the holder alone", false,
           "all"},
    Option{"local-gate", 0, "", "", From::anywhere, Group::waiting, of::claims,
           "of your waiters on this host, let only one wait at the server"},

    Option{"c", 'c', "STRING", "", From::command_line, Group::job, of::run,
           "run $SHELL -c STRING instead of COMMAND"},
    Option{"grace", 0, "DUR", "min(5s, TTL/6)", From::anywhere, Group::job, of::run,
           "time between TERM and KILL when rlock stops the job"},
    Option{"on-lost", 0, "stop|warn", "stop", From::anywhere, Group::job, of::run,
           "what to do with the job if the lock is lost"},
    Option{"wait-all", 0, "", "", From::anywhere, Group::job, of::run,
           "keep the lock until every descendant of the job has ended"},
    Option{"reentrant", 0, "", "", From::anywhere, Group::job, of::run,
           "inside a job that already holds KEY, just run COMMAND"},

    Option{"yes", 'y', "", "", From::command_line, Group::result, of::force_release,
           "do not ask; required without a terminal"},
    Option{"conflict-exit-code", 'E', "N", "75", From::anywhere, Group::result, of::claims,
           "exit code if the lock is busy or the wait ends"},
    Option{"status-file", 0, "FILE", "", From::command_line, Group::result, of::run,
           "write the outcome of the run to FILE, as JSON"},
    Option{"reason", 0, "TEXT", "", From::command_line, Group::result, of::cancel | of::force_release,
           "tell the holder why, after your name"},
    Option{"history", 0, "DUR", "8d", From::anywhere, Group::result, of::claims | of::release,
           "how long the server remembers the run for `rlock log`; 0: not at all"},
    Option{"export", 0, "", "", From::command_line, Group::result, of::acquire,
           "print shell variables for eval instead of the token"},
    Option{"github-output", 0, "", "", From::command_line, Group::result, of::acquire,
           "append token, key and fence to the file of $GITHUB_OUTPUT"},
    Option{"last", 'n', "N", "", From::command_line, Group::result, of::log,
           "only the last N runs of each lock"},
    Option{"failed", 0, "", "", From::command_line, Group::result, of::log,
           "only runs that did not end with exit code 0"},
    Option{"within", 0, "DUR", "", From::command_line, Group::result, of::overdue,
           "how recent the last good run must be; required"},
    Option{"json", 0, "", "", From::command_line, Group::result,
           of::inspect | of::list | of::doctor | of::log | of::overdue,
           "print JSON instead of text"},
    Option{"host", 0, "NAME", "", From::command_line, Group::result, of::list,
           "only locks that somebody on this host holds or waits for"},
    Option{"user", 0, "NAME", "", From::command_line, Group::result, of::list,
           "only locks that this user holds or waits for"},
    Option{"sort", 0, "key|age|ttl|waiting", "key", From::command_line, Group::result, of::list,
           "by key; the longest held, the next to end, or the most wanted first"},
    Option{"watch", 0, "", "", From::command_line, Group::result, of::list,
           "show the list again every 2 seconds, until ^C"},
    Option{"wide", 0, "", "", From::command_line, Group::result, of::list | of::log,
           "do not cut lines to the width of the terminal"},
    Option{"color", 0, "auto|always|never", "auto", From::anywhere, Group::result, of::tables,
           "use colour; auto: at a terminal, unless NO_COLOR is set"},

    Option{"server", 'S', "URL", "redis://127.0.0.1:6379", From::anywhere, Group::server, of::all,
           "the lock server: redis[s]://[[user]:password@]host[:port][/db], unix:///path[?db=N], "
           "redis[s]+sentinel://host[:port],.../master[/db], zk://host[:port],.../path or "
           "file:[///dir]; repeat it to use a quorum", true},
    Option{"connect-timeout", 0, "DUR", "5s", From::anywhere, Group::server, of::all,
           "give up on a server that does not answer within DUR"},
    Option{"password-file", 0, "FILE", "", From::anywhere, Group::server, of::all,
           "read the password from the first line of FILE"},

    Option{"config", 0, "FILE", "", From::environment, Group::general, of::all,
           "read options from FILE and from no other file"},
    Option{"quiet", 'q', "", "", From::anywhere, Group::general, of::all,
           "print errors only"},
    Option{"verbose", 'v', "", "", From::anywhere, Group::general, of::all,
           "print more on stderr; -vv prints connections and questions, too"},
    Option{"log-json", 0, "", "", From::anywhere, Group::general, of::all,
           "print each line on stderr as a JSON object"},
    Option{"help", 'h', "", "", From::command_line, Group::general, of::all,
           "print this help"},
    Option{"version", 'V', "", "", From::command_line, Group::general, of::run,
           "print the version and what is built in"},
};
// clang-format on

/// How flock(1) calls what is an option here.
struct FlockOption {
  std::string_view written;
  std::string_view
      ours;  // a name in the table; empty: there is none, and `hint` says what to write
  std::string_view hint{};
};
inline constexpr std::array flock_options{
    FlockOption{"--nb", "nonblock"},
    FlockOption{"--nonblocking", "nonblock"},
    FlockOption{"--timeout", "wait"},
    FlockOption{"-e", "exclusive"},
    FlockOption{"-o", "", "leave it out: the job inherits no descriptor of the lock"},
    FlockOption{"--close", "", "leave it out: the job inherits no descriptor of the lock"},
    FlockOption{"-F", "", "leave it out: rlock must stay to refresh the lock"},
    FlockOption{"--no-fork", "", "leave it out: rlock must stay to refresh the lock"},
    FlockOption{"--fcntl", "", "leave it out: rlock locks a key and no file"},
    FlockOption{"-u", "", "to release a lock of 'rlock acquire': rlock release -k KEY"},
    FlockOption{"--unlock", "", "to release a lock of 'rlock acquire': rlock release -k KEY"},
    FlockOption{"--command", "", "write -c STRING"},
};

/// A name in the table; any other does not compile.
class OptionName {
 public:
  consteval OptionName(const char* name) : name_{name} {
    if (std::none_of(options.begin(), options.end(),
                     [&](const Option& each) { return each.name == name_; })) {
      throw "no such option";
    }
  }
  [[nodiscard]] constexpr std::string_view text() const { return name_; }

 private:
  std::string_view name_;
};

/// The rows of these commands, in the table's order.
std::vector<const Option*> options_of(Commands commands);
/// "--ttl", or "-c".
std::string written(const Option& option);
/// "RLOCK_TTL"
std::string variable_of(std::string_view name);
/// Whether a config file may have it.
bool may_stand_in_config(std::string_view name);
/// Whether it may have it several times; the values are then joined with blanks.
bool may_repeat_in_config(std::string_view name);
/// All names that a config file may have: "server, password-file, ...".
std::string names_in_config();
/// The one of them that was likely meant; empty if none is close.
std::string_view likely_meant_in_config(std::string_view seen);
/// Those of them that may repeat.
std::string names_to_repeat_in_config();

/// A RLOCK_* variable that is set but does not mean what somebody may believe.
struct VariableDoubt {
  enum class Kind {
    unknown,            // no option, and nothing that a job is told
    command_line_only,  // an option of this command that only its command line can give
    read_by_nobody      // an option that only the command line of other commands can give
  } kind;
  std::string name;
  std::string option{};  // as it is written there; empty if it is none
};
/// Of an environment, "NAME=value" each.
std::vector<VariableDoubt> doubtful_variables(const std::vector<std::string_view>& environment,
                                              Commands command);

/// The options of a command for --help: its own first, grouped if they are many, then those that
/// every command has. No line is longer than `help_width`.
std::string help_of(Commands command);
inline constexpr std::size_t help_width = 80;
/// `text` in lines that fit; those after the first are indented so far.
std::string wrapped(std::string_view text, std::size_t column, std::size_t width = help_width);

/// The one of `known` that `seen` was probably meant to be; empty if it is like none.
std::string_view likely_meant(std::string_view seen, const std::vector<std::string_view>& known);

}  // namespace cmd
