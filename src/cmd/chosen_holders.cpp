#include "cmd/chosen_holders.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "cmd/claim_options.hpp"
#include "cmd/commands.hpp"
#include "os/host.hpp"

namespace cmd {

std::optional<store::Token> chosen_token(const Settings& settings) {
  const auto setting = settings.find("token");
  if (!setting) return std::nullopt;
  return store::Token::foreign(setting->text);
}

Holders chosen_holders(const store::LockReport& report, const std::optional<store::Token>& only) {
  Holders chosen = report.holders;
  std::erase_if(chosen,
                [&](const auto& each) { return only && each.holder.token != only->text(); });
  return chosen;
}

Tokens tokens_of(const Holders& holders) {
  Tokens tokens;
  tokens.reserve(holders.size());
  for (const auto& each : holders) tokens.push_back(store::Token::foreign(each.holder.token));
  return tokens;
}

bool is_kept(const store::Holder& holder) {
  return holder.kind == store::Holder::Kind::kept;
}

bool can_stop(const store::HolderReport& one) {
  return !is_kept(one.holder) && store::Token::foreign(one.holder.token).parts();
}

bool is_step(const store::Token& token) {
  const auto parts = token.parts();
  return parts && parts->label == acquire_label;
}

int report_not_held(const ServerChoice& server, const store::LockName& name,
                    const std::optional<store::Token>& only) {
  base::log::error("nobody holds '{}'{}{}", base::printable(name.text()),
                   only ? " with that token" : "", if_pattern(server, name));
  return ExitCode::not_found_here;
}

std::string who_and_why(const Settings& settings) {
  const std::string who = os::user_name() + '@' + os::host_name();
  const std::string reason = reason_in(settings);
  return reason.empty() ? who : who + ": " + reason;
}

}  // namespace cmd
