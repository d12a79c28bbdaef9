// The TLS settings of a URL.
#pragma once

#include <optional>
#include <string>

#include "store/url.hpp"

namespace store {

/// Files are PEM. The server's certificate is verified unless the URL forbids that.
struct TlsSettings {
  std::string ca_file;           // empty: the system's trusted CAs
  std::string certificate_file;  // ours, with its chain; empty: none
  std::string key_file;
  std::string name;  // expected in the certificate; empty: the host we connect to
  bool verify = true;
};

namespace tls {

/// Takes an option of UrlOption::Group::tls; or why not.
std::optional<BadUrl> take_option(const UrlOption& option, const std::string& value,
                                  TlsSettings& settings);
/// Why the settings do not go together, if they do not.
std::optional<BadUrl> conflict_in(const TlsSettings& settings);

}  // namespace tls
}  // namespace store
