// Every option of every command, a row each. The command line, --help, RLOCK_* variables and config
// files know options only from here; the option's command gives it its meaning.
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
                          overdue = 2048, metrics = 4096, schema = 8192;
inline constexpr Commands claims = run | acquire, steps = refresh | release | check,
                          tables = inspect | list | force_release | doctor | log,
                          all = claims | steps | inspect | list | cancel | force_release | doctor |
                                log | overdue | metrics;
}  // namespace of

/// Where a value may come from, besides the command line.
enum class From {
  command_line,  // only: it is about this one run, and a job hands its environment on to others
  environment,
  anywhere  // also config files
};

/// The headings of --help, in its order.
enum class Group { lock, waiting, job, result, server, general };

struct Option {
  std::string_view name;        // as after "--"; of one letter: "-c" is all there is
  char letter = 0;              // 0: none
  std::string_view argument{};  // what --help calls the value; empty for a flag
  std::string_view standard{};  // the default; for people, unless Settings::value() reads it
  // The value if none is given; then a value can follow only a '='. Empty: a value is required.
  std::string_view bare{};
  From from = From::command_line;
  Group group;
  Commands commands;
  bool repeated = false;  // may be given several times; otherwise the last one counts
  std::string_view help;

  [[nodiscard]] constexpr bool takes_value() const { return !argument.empty(); }
  [[nodiscard]] constexpr bool has_long_form() const { return name.size() > 1; }
};

// The default TTL: long enough that a restart of the server or a slow minute of the host does not
// stop a job, short enough that a crashed host's job is taken over while somebody still looks at
// the clock. The default wait of cancel and force-release: a job that was told to stop has its
// grace, 5 s by default, and then is killed.
// clang-format off
inline constexpr std::array options{
    Option{.name = "key", .letter = 'k', .argument = "KEY",
           .group = Group::lock, .commands = of::claims, .repeated = true,
           .help = "the lock to take; repeat it to take several, all or none"},
    Option{.name = "key", .letter = 'k', .argument = "KEY", .standard = "RLOCK_KEY, or all of RLOCK_FENCES",
           .group = Group::lock, .commands = of::steps, .repeated = true,
           .help = "the lock"},
    Option{.name = "key", .letter = 'k', .argument = "KEY",
           .group = Group::lock,
           .commands = of::inspect | of::cancel | of::force_release | of::doctor | of::log | of::overdue,
           .help = "the lock, instead of the operand KEY"},
    Option{.name = "token", .argument = "TOKEN", .standard = "RLOCK_TOKEN",
           .from = From::environment, .group = Group::lock, .commands = of::steps,
           .help = "the token that holds the lock"},
    Option{.name = "token", .argument = "TOKEN",
           .group = Group::lock, .commands = of::cancel | of::force_release,
           .help = "only the holder with this token, if there are several"},
    Option{.name = "ttl", .letter = 't', .argument = "DUR", .standard = "30s",
           .from = From::anywhere, .group = Group::lock, .commands = of::run,
           .help = "length of the lease, at least 100ms; refreshed every third of it"},
    Option{.name = "ttl", .letter = 't', .argument = "DUR",
           .from = From::anywhere, .group = Group::lock, .commands = of::acquire,
           .help = "how long to hold the lock, unless it is refreshed; required"},
    Option{.name = "ttl", .letter = 't', .argument = "DUR",
           .from = From::anywhere, .group = Group::lock, .commands = of::refresh,
           .help = "how long to hold the lock from now on; required"},
    Option{.name = "at-least", .argument = "DUR", .standard = "0",
           .group = Group::lock, .commands = of::check,
           .help = "also require that DUR of the lease is left"},
    Option{.name = "exclusive", .letter = 'x',
           .group = Group::lock, .commands = of::claims,
           .help = "hold the lock alone, as a writer (the default)"},
    Option{.name = "shared", .letter = 's',
           .group = Group::lock, .commands = of::claims,
           .help = "share the lock with other readers"},
    Option{.name = "permits", .argument = "N", .standard = "1",
           .group = Group::lock, .commands = of::claims,
           .help = "let N hold the lock at once; RLOCK_PERMIT is the number of this one, from 1 to N"},
    Option{.name = "one-of", .argument = "NAME[,NAME]...",
           .group = Group::lock, .commands = of::claims,
           .help = "hold one of these names, each for one holder at a time; RLOCK_RESOURCE is its name"},
    Option{.name = "min-hold", .argument = "DUR",
           .from = From::anywhere, .group = Group::lock, .commands = of::run,
           .help = "keep the lock for DUR after the grant, even if the job ends sooner"},
    Option{.name = "max-hold", .argument = "DUR",
           .from = From::anywhere, .group = Group::lock, .commands = of::run,
           .help = "stop the job so that it is gone DUR after the grant; exit code 76"},
    Option{.name = "sync-replicas", .argument = "N", .standard = "0",
           .from = From::anywhere, .group = Group::lock, .commands = of::claims,
           .help = "take the lock only if N replicas confirm it"},
    Option{.name = "label", .argument = "TEXT",
           .from = From::anywhere, .group = Group::lock, .commands = of::claims,
           .help = "what others see instead of the command's name"},
    Option{.name = "reason", .argument = "TEXT",
           .group = Group::lock, .commands = of::claims,
           .help = "what others see when they ask who holds the lock"},

    Option{.name = "slot", .argument = "ID",
           .group = Group::lock, .commands = of::run,
           .help = "run once for ID, or once per @day, @hour, @week, @month or @15m of this host's clock; later "
                   "runs do nothing and exit 0"},
    Option{.name = "retry", .argument = "N", .standard = "0",
           .from = From::anywhere, .group = Group::lock, .commands = of::run,
           .help = "if the run of a slot fails, allow N more"},
    Option{.name = "share",
           .group = Group::lock, .commands = of::run,
           .help = "if the slot is done, exit with its exit code"},

    Option{.name = "wait", .letter = 'w', .argument = "DUR", .standard = "0",
           .from = From::anywhere, .group = Group::waiting, .commands = of::claims,
           .help = "wait in the queue for up to DUR, or 'forever'; 0 tries once"},
    Option{.name = "wait", .argument = "DUR", .standard = "10s",
           .group = Group::waiting, .commands = of::cancel,
           .help = "how long to wait for the release"},
    Option{.name = "wait", .argument = "DUR", .standard = "10s",
           .group = Group::waiting, .commands = of::force_release,
           .help = "how long to wait until the holder says that its job has stopped"},
    Option{.name = "nonblock", .letter = 'n',
           .group = Group::waiting, .commands = of::claims,
           .help = "the same as --wait 0"},
    Option{.name = "max-waiters", .argument = "N",
           .from = From::anywhere, .group = Group::waiting, .commands = of::claims,
           .help = "do not wait if N are waiting already"},
    Option{.name = "supersede", .argument = "all|waiting", .bare = "all",
           .from = From::anywhere, .group = Group::waiting, .commands = of::claims,
           .help = "newest wins: stop the holder, send older waiters away, go next; =waiting leaves the holder "
                   "alone"},
    Option{.name = "local-gate",
           .from = From::anywhere, .group = Group::waiting, .commands = of::claims,
           .help = "of your waiters on this host, let only one wait at the server"},

    Option{.name = "c", .letter = 'c', .argument = "STRING",
           .group = Group::job, .commands = of::run,
           .help = "run $SHELL -c STRING instead of COMMAND"},
    Option{.name = "grace", .argument = "DUR", .standard = "min(5s, TTL/6)",
           .from = From::anywhere, .group = Group::job, .commands = of::run,
           .help = "time between TERM and KILL when rlock stops the job"},
    Option{.name = "on-lost", .argument = "stop|warn", .standard = "stop",
           .from = From::anywhere, .group = Group::job, .commands = of::run,
           .help = "what to do with the job if the lock is lost"},
    Option{.name = "wait-all",
           .from = From::anywhere, .group = Group::job, .commands = of::run,
           .help = "keep the lock until every descendant of the job has ended"},
    Option{.name = "reentrant",
           .from = From::anywhere, .group = Group::job, .commands = of::run,
           .help = "inside a job that already holds KEY, just run COMMAND"},

    Option{.name = "yes", .letter = 'y',
           .group = Group::result, .commands = of::force_release,
           .help = "do not ask; required without a terminal"},
    Option{.name = "conflict-exit-code", .letter = 'E', .argument = "N", .standard = "75",
           .from = From::anywhere, .group = Group::result, .commands = of::claims,
           .help = "exit code if the lock is busy or the wait ends"},
    Option{.name = "status-file", .argument = "FILE",
           .group = Group::result, .commands = of::run,
           .help = "write the outcome of the run to FILE, as JSON"},
    Option{.name = "reason", .argument = "TEXT",
           .group = Group::result, .commands = of::cancel | of::force_release,
           .help = "tell the holder why, after your name"},
    Option{.name = "history", .argument = "DUR", .standard = "8d",
           .from = From::anywhere, .group = Group::result, .commands = of::claims | of::release,
           .help = "how long the server remembers the run for `rlock log`; 0: not at all"},
    Option{.name = "export",
           .group = Group::result, .commands = of::acquire,
           .help = "print shell variables for eval instead of the token"},
    Option{.name = "github-output",
           .group = Group::result, .commands = of::acquire,
           .help = "append token, key and fence to the file of $GITHUB_OUTPUT"},
    Option{.name = "last", .letter = 'n', .argument = "N",
           .group = Group::result, .commands = of::log,
           .help = "only the last N runs of each lock"},
    Option{.name = "failed",
           .group = Group::result, .commands = of::log,
           .help = "only runs that did not end with exit code 0"},
    Option{.name = "timeline",
           .group = Group::result, .commands = of::log,
           .help = "draw each run as a bar over time"},
    Option{.name = "within", .argument = "DUR",
           .group = Group::result, .commands = of::overdue,
           .help = "how recent the last good run must be; required"},
    Option{.name = "json",
           .group = Group::result, .commands = of::inspect | of::list | of::doctor | of::log | of::overdue,
           .help = "print JSON instead of text"},
    Option{.name = "host", .argument = "NAME",
           .group = Group::result, .commands = of::list,
           .help = "only locks that somebody on this host holds or waits for"},
    Option{.name = "user", .argument = "NAME",
           .group = Group::result, .commands = of::list,
           .help = "only locks that this user holds or waits for"},
    Option{.name = "sort", .argument = "key|age|ttl|waiting", .standard = "key",
           .group = Group::result, .commands = of::list,
           .help = "by key; the longest held, the next to end, or the most wanted first"},
    Option{.name = "watch",
           .group = Group::result, .commands = of::list,
           .help = "show the list again every 2 seconds, until ^C"},
    Option{.name = "wide",
           .group = Group::result, .commands = of::list,
           .help = "show reasons, and do not cut lines to the width of the terminal"},
    Option{.name = "wide",
           .group = Group::result, .commands = of::log,
           .help = "do not cut lines to the width of the terminal"},
    Option{.name = "color", .argument = "auto|always|never", .standard = "auto",
           .from = From::anywhere, .group = Group::result, .commands = of::tables,
           .help = "use colour; auto: at a terminal, unless NO_COLOR is set"},

    Option{.name = "server", .letter = 'S', .argument = "URL", .standard = "redis://127.0.0.1:6379",
           .from = From::anywhere, .group = Group::server, .commands = of::all, .repeated = true,
           .help = "the lock server: redis[s]://[[user]:password@]host[:port][/db], unix:///path[?db=N], "
                   "redis[s]+sentinel://host[:port],.../master[/db], postgresql://host[:port]/database, "
                   "zk://host[:port],.../path, etcd://host[:port],.../prefix or file:[///dir]; "
                   "repeat it to use a quorum"},
    Option{.name = "connect-timeout", .argument = "DUR", .standard = "5s",
           .from = From::anywhere, .group = Group::server, .commands = of::all,
           .help = "give up on a server that does not answer within DUR"},
    Option{.name = "password-file", .argument = "FILE",
           .from = From::anywhere, .group = Group::server, .commands = of::all,
           .help = "read the password from the first line of FILE"},

    Option{.name = "config", .argument = "FILE",
           .from = From::environment, .group = Group::general, .commands = of::all,
           .help = "read options from FILE and from no other file"},
    Option{.name = "quiet", .letter = 'q',
           .from = From::anywhere, .group = Group::general, .commands = of::all,
           .help = "print errors only"},
    Option{.name = "verbose", .letter = 'v',
           .from = From::anywhere, .group = Group::general, .commands = of::all,
           .help = "print more on stderr; -vv prints connections and questions, too"},
    Option{.name = "log-json",
           .from = From::anywhere, .group = Group::general, .commands = of::all,
           .help = "print each line on stderr as a JSON object"},
    Option{.name = "help", .letter = 'h',
           .group = Group::general, .commands = of::all | of::schema,
           .help = "print this help"},
    Option{.name = "version", .letter = 'V',
           .group = Group::general, .commands = of::run,
           .help = "print the version and what is built in"},
};
// clang-format on

/// How flock(1) calls what is an option here.
struct FlockOption {
  std::string_view written;
  std::string_view ours{};  // a name in the table; empty: none, and `hint` says what to write
  std::string_view hint{};
};
inline constexpr std::array flock_options{
    FlockOption{.written = "--nb", .ours = "nonblock"},
    FlockOption{.written = "--nonblocking", .ours = "nonblock"},
    FlockOption{.written = "--timeout", .ours = "wait"},
    FlockOption{.written = "-e", .ours = "exclusive"},
    FlockOption{.written = "-o",
                .hint = "leave it out: the job inherits no descriptor of the lock"},
    FlockOption{.written = "--close",
                .hint = "leave it out: the job inherits no descriptor of the lock"},
    FlockOption{.written = "-F", .hint = "leave it out: rlock must stay to refresh the lock"},
    FlockOption{.written = "--no-fork",
                .hint = "leave it out: rlock must stay to refresh the lock"},
    FlockOption{.written = "--fcntl", .hint = "leave it out: rlock locks a key and no file"},
    FlockOption{.written = "-u",
                .hint = "to release a lock of 'rlock acquire': rlock release -k KEY"},
    FlockOption{.written = "--unlock",
                .hint = "to release a lock of 'rlock acquire': rlock release -k KEY"},
    FlockOption{.written = "--command", .hint = "write -c STRING"},
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

/// The options of a command for --help, grouped if they are many. Those that every command has are
/// only named, except for a run. No line is longer than `help_width`.
std::string help_of(Commands command);
/// The row of the first option with that long name; empty if there is none.
std::string help_of_option(std::string_view name);
/// The options that every command has.
std::string help_of_common();
inline constexpr std::size_t help_width = 80;
/// `text` in lines that fit; those after the first are indented so far.
std::string wrapped(std::string_view text, std::size_t column, std::size_t width = help_width);

/// The one of `known` that `seen` was probably meant to be; empty if it is like none.
std::string_view likely_meant(std::string_view seen, const std::vector<std::string_view>& known);

}  // namespace cmd
