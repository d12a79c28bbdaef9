#include "cmd/holders.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "base/text.hpp"
#include "os/host.hpp"

namespace cmd {
namespace {

constexpr base::Millis admin_answers_within{5'000};

}  // namespace

os::CallLimit soon() {
  return {base::Deadline::after(base::now(), admin_answers_within)};
}

std::vector<store::HolderReport> chosen_holders(const store::LockReport& report,
                                                const std::optional<store::Token>& only) {
  std::vector<store::HolderReport> chosen = report.holders;
  std::erase_if(chosen,
                [&](const auto& each) { return only && each.occupant.token != only->text(); });
  return chosen;
}

std::vector<store::Token> tokens_of(const std::vector<store::HolderReport>& holders) {
  std::vector<store::Token> tokens;
  tokens.reserve(holders.size());
  for (const auto& each : holders) tokens.push_back(store::Token::foreign(each.occupant.token));
  return tokens;
}

std::optional<store::Token> token_in(const Settings& settings) {
  const auto setting = settings.find("token");
  if (!setting) return std::nullopt;
  return store::Token::foreign(setting->text);
}

int report_nobody(const store::LockName& name, const std::optional<store::Token>& only) {
  base::log::error("'{}' is held by nobody{}; nothing was changed", base::printable(name.text()),
                   only ? " with that token" : "");
  return ExitCode::not_found_here;
}

std::string ourselves() {
  return os::user_name() + '@' + os::host_name();
}

}  // namespace cmd
