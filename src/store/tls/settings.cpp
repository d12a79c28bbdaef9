#include "store/tls/settings.hpp"

namespace store::tls {

std::optional<BadUrl> take_option(const UrlOption& option, const std::string& value,
                                  TlsSettings& settings) {
  using Id = UrlOption::Id;
  const auto id = option.id;
  const bool is_file = id == Id::ca_file || id == Id::certificate || id == Id::key;
  if (is_file && value.empty())
    return BadUrl{std::string{option.name} + " needs the path of a file"};
  switch (id) {
    case Id::ca_file: settings.ca_file = value; break;
    case Id::certificate: settings.certificate_file = value; break;
    case Id::key: settings.key_file = value; break;
    case Id::server_name: settings.name = value; break;
    case Id::skip_verify:
      if (value != "yes" && value != "no")
        return BadUrl{std::string{option.name} + " is yes or no"};
      settings.verify = value == "no";
      break;
    default: break;  // not one of TLS
  }
  return std::nullopt;
}

std::optional<BadUrl> conflict_in(const TlsSettings& settings) {
  if (settings.certificate_file.empty() == settings.key_file.empty()) return std::nullopt;
  return BadUrl{"cert and key go together"};
}

}  // namespace store::tls
