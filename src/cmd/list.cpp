// rlock list: which locks are held or waited for, once or again and again.
#include <algorithm>
#include <map>

#include "base/duration.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/claim_options.hpp"
#include "cmd/commands.hpp"
#include "cmd/present.hpp"
#include "os/child.hpp"
#include "os/signals.hpp"
#include "os/stdio.hpp"
#include "store/backend.hpp"

namespace cmd {
namespace {

using Reports = std::vector<store::LockReport>;

enum class Order { key, age, ttl, waiting };

struct ListPlan {
  ServerChoice server;
  std::vector<std::string> patterns;
  std::optional<std::string> host;
  std::optional<std::string> user;
  Order order;
  bool json;
  bool watch;
  bool wide;
  Look look;
};

/// Whether one of its holders or waiters is of that host and user.
bool concerns(const ListPlan& plan, const store::LockReport& report) {
  if (!plan.host && !plan.user) return true;
  const auto is_theirs = [&](const store::Token& token) {
    const auto parts = token.parts();
    return parts && (!plan.host || parts->host == *plan.host) &&
           (!plan.user || parts->user == *plan.user);
  };
  return std::any_of(report.holders.begin(), report.holders.end(),
                     [&](const auto& each) {
                       return is_theirs(store::Token::foreign(each.holder.token));
                     }) ||
         std::any_of(report.waiters.begin(), report.waiters.end(),
                     [&](const auto& each) { return is_theirs(each.token); });
}

/// The longest, the next to end, or the most wanted first; among equals by key.
void sort(Reports& reports, Order order) {
  const auto rank = [order](const store::LockReport& report) -> std::int64_t {
    constexpr auto last = std::numeric_limits<std::int64_t>::max();
    const auto* first = report.holders.empty() ? nullptr : &report.holders.front().holder;
    switch (order) {
      case Order::age: return first && first->held_for ? -first->held_for->count() : last;
      case Order::ttl: return first && first->expires_in ? first->expires_in->count() : last;
      case Order::waiting: return -static_cast<std::int64_t>(report.waiters.size());
      case Order::key: break;
    }
    return 0;
  };
  std::stable_sort(reports.begin(), reports.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

store::Result<store::Listing> listed(const ListPlan& plan, store::LockAdmin& admin,
                                     int interrupt = -1) {
  std::map<store::LockName, store::LockReport> found;  // what two patterns match, once
  store::Listing all;
  for (const std::string& pattern : plan.patterns) {
    auto answer = plan.server.list(admin, pattern, store::Listed::in_use, interrupt);
    if (!answer) return std::move(answer).error();
    for (store::LockReport& each : answer->locks) {
      if (concerns(plan, each)) found.emplace(each.name, std::move(each));
    }
    if (answer->missing) all.missing = std::move(answer->missing);
    if (!answer->doubt.empty()) all.doubt = std::move(answer->doubt);
  }
  all.locks.reserve(found.size());
  for (auto& [name, report] : found) all.locks.push_back(std::move(report));
  sort(all.locks, plan.order);
  return all;
}

/// "no lock that matches 'batch' is held or waited for".
std::string nothing_found(const ListPlan& plan) {
  std::string which;
  if (plan.patterns != std::vector<std::string>{"*"}) {
    for (const auto& each : plan.patterns) {
      which += fmt::format("{}'{}'", which.empty() ? " that matches " : " or ", shown_word(each));
    }
  }
  if (plan.host) which += fmt::format(" on host '{}'", shown_word(*plan.host));
  if (plan.user) which += fmt::format(" by user '{}'", shown_word(*plan.user));
  return fmt::format("no lock{} is held or waited for", which);
}

// ---- --watch ----------------------------------------------------------------------------------

// Often enough to see a queue move, and seldom enough for a server with a million keys, of which a
// scan takes a second.
constexpr base::Millis watch_pause{2'000};

// Of xterm and all that came after it: a screen of its own, so that what was there comes back.
constexpr std::string_view enter_screen = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view leave_screen = "\x1b[?25h\x1b[?1049l";

/// The user's screen comes back however the watching ends.
class OwnScreen {
 public:
  OwnScreen() { print(enter_screen); }
  ~OwnScreen() {
    try {
      print(leave_screen);
    } catch (const std::system_error&) {
      // The terminal is gone.
    }
  }
  OwnScreen(const OwnScreen&) = delete;
  OwnScreen& operator=(const OwnScreen&) = delete;
};

/// A new screen over the old one: each line erases only the rest of its row, so that nothing
/// flickers.
std::string redrawn(const ListPlan& plan, const store::Result<store::Listing>& answer) {
  const auto size = os::stdout_size().value_or(os::TerminalSize{24, 80});
  Look look = plan.look;
  // A cursor behind the last column stays on it, where wiping the rest would wipe a character.
  const std::size_t columns = std::max<std::size_t>(size.columns, 2) - 1;
  if (!plan.wide) look.columns = columns;
  std::string text =
      fmt::format("every {}, ^C ends: {}", base::format_duration(watch_pause), plan.server.shown);
  text = base::fit_columns(text, columns) + "\n";
  const auto say = [&](const std::string& words) {
    text += base::fit_columns(base::one_line(words), columns) + "\n";
  };
  if (!answer) {
    say(plan.server.said_of(answer.error()));
  } else {
    if (answer->missing) say(not_whole(*answer->missing));
    if (!answer->doubt.empty()) say(answer->doubt);
    if (answer->locks.empty()) {
      if (!answer->missing) say(nothing_found(plan));
    } else {
      text += as_table(answer->locks, look, plan.wide ? ReasonColumn::yes : ReasonColumn::no);
    }
  }
  std::string screen = "\x1b[H";
  std::size_t row = 1;
  for (std::size_t begin = 0; begin < text.size(); ++row) {
    const auto end = text.find('\n', begin);
    const bool last = row == size.rows;
    if (last && end + 1 < text.size()) {
      const auto more =
          std::count(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), '\n');
      return screen + base::fit_columns(fmt::format("… and {} more", more), columns) + "\x1b[K";
    }
    screen += text.substr(begin, end - begin) + "\x1b[K" + (last ? "" : "\r\n");
    begin = end + 1;
  }
  return screen + "\x1b[J";
}

/// Until a signal ends it; ^C is how it is meant to end.
int watch(const ListPlan& plan, store::LockAdmin& admin) {
  os::Signals signals;
  std::optional<OwnScreen> screen{std::in_place};
  auto answer = listed(plan, admin, signals.descriptor());
  while (true) {
    print(redrawn(plan, answer));
    const os::CallLimit pause{base::Deadline::after(base::now(), watch_pause)};
    const auto woken = os::wait_for(signals.descriptor(), os::Want::read, pause);
    bool resized = false;
    while (const auto signal = signals.take()) {
      switch (signal->number) {
        case SIGINT: return ExitCode::ok;
        case SIGTSTP:
          screen.reset();
          os::Signals::suspend(SIGTSTP);
          screen.emplace();
          break;
        default:
          if (os::ends_a_process(signal->number)) {
            return os::ExitStatus::signal_code(signal->number);
          }
          resized = resized || signal->number == SIGWINCH;
      }
    }
    // A window that is dragged larger is drawn anew at once, and asks nothing of the server.
    if (woken == os::Ready::yes && resized) continue;
    auto fresh = listed(plan, admin, signals.descriptor());
    // Cut short by a signal, it says nothing of the server.
    if (fresh || !os::is_readable(signals.descriptor())) answer = std::move(fresh);
  }
}

// ---- the command ------------------------------------------------------------------------------

int execute(const ListPlan& plan) {
  const auto admin = store::open_admin(plan.server.spec);
  if (plan.watch) return watch(plan, *admin);
  const auto answer = listed(plan, *admin);
  if (!answer) return report_fault(plan.server, answer.error());
  if (plan.json) {
    write_json(answer->locks, print);
  } else if (!answer->locks.empty()) {
    print(as_table(answer->locks, plan.look, plan.wide ? ReasonColumn::yes : ReasonColumn::no));
  } else if (!answer->missing) {
    base::log::notice("{}", nothing_found(plan));
  }
  return report_gaps(plan.server, *answer);
}

Order order_in(const Settings& settings) {
  const auto setting = settings.value("sort");
  if (setting.text == "key") return Order::key;
  if (setting.text == "age") return Order::age;
  if (setting.text == "ttl") return Order::ttl;
  if (setting.text == "waiting") return Order::waiting;
  throw not_accepted(setting, "key, age, ttl or waiting");
}

std::optional<std::string> text_in(const Settings& settings, OptionName name) {
  const auto setting = settings.find(name);
  return setting ? std::optional{setting->text} : std::nullopt;
}

Act resolve_list(const Settings& settings, const std::vector<std::string>& operands) {
  const ListPlan plan{
      resolve_server(settings),  operands.empty() ? std::vector<std::string>{"*"} : operands,
      text_in(settings, "host"), text_in(settings, "user"),
      order_in(settings),        settings.is_on("json"),
      settings.is_on("watch"),   settings.is_on("wide"),
      look_of(settings)};
  if (plan.watch && plan.json) {
    throw UsageError{ExitCode::usage, "use only one of --watch and --json"};
  }
  if (plan.watch && !os::stdout_is_terminal()) {
    throw UsageError{ExitCode::usage, "--watch needs a terminal, and stdout is not one"};
  }
  return [plan] { return execute(plan); };
}

}  // namespace

const Command list_command{
    "list",
    of::list,
    "list [OPTIONS] [PATTERN]...",
    "list the locks that are held or waited for",
    "PATTERN is a glob on the key: * ? [a-z], with \\ before a literal one. list scans\n"
    "all keys of the database, a thousand at a time. At a terminal it cuts long keys\n"
    "and holders to fit, and a narrow one has fewer columns.\n"
    "\n"
    "Examples:\n"
    "  rlock list 'batch:*' --sort age\n"
    "  rlock list --host web1 --watch",
    resolve_list};

}  // namespace cmd
