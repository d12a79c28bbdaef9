// URLs, split into their parts, and the values of these.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace store {

struct BadUrl {
  std::string why;
  bool has_known_scheme = true;
};

/// A URL, split but not interpreted. Views into the text.
struct Url {
  std::string_view whole;
  std::string_view scheme;
  std::string_view user_info;
  bool has_user_info = false;
  bool has_host = false;  // it contains "//", whatever follows
  std::string_view host;  // the text between the user info and the path
  std::string_view path;  // with the leading '/'
  std::string_view query;
};

/// Nothing if the text does not begin with "scheme:".
std::optional<Url> cut_url(std::string_view url);
/// Nothing for an invalid escape, or for %00, which would end a path early.
std::optional<std::string> percent_decoded(std::string_view text);
/// Writes everything but letters, digits and -_:+@=,. as %XX, also a leading dot: fit for the name
/// of a file or a node.
std::string percent_encoded(std::string_view text);
/// Nothing unless the text is a decimal number within these bounds.
std::optional<int> number_between(std::string_view text, int least, int most);

/// Where a server listens.
struct HostPort {
  std::string host;
  std::string port;
  bool operator==(const HostPort&) const = default;
};
/// "host[:port],[IPv6]:port...", at least one.
base::Result<std::vector<HostPort>, BadUrl> hosts_in(std::string_view text,
                                                     std::string_view usual_port);

/// "user:password", decoded; the password is empty if there is no colon. Nothing for an invalid
/// escape.
std::optional<std::pair<std::string, std::string>> user_and_password(const Url& url);

/// "name=value&name=value", values decoded; nothing for an invalid escape.
std::optional<std::vector<std::pair<std::string, std::string>>> options_in(std::string_view query);

/// An option after the '?'. The parser, ServerUrl and secrets_in() know options only from this
/// table.
struct UrlOption {
  enum class Id {
    database,
    sentinel_user,
    sentinel_password,
    ca_file,
    certificate,
    key,
    server_name,
    skip_verify,
    of_libpq,  // which interprets it
  } id;
  std::string_view name;
  enum class Group { unix_socket, sentinel, tls, libpq } group;  // the URLs that accept it
  enum class Secrecy {
    none,
    user_name,  // hidden in messages, but visible in argv
    password,
  } secrecy;
};

constexpr UrlOption of_libpq(std::string_view name,
                             UrlOption::Secrecy secrecy = UrlOption::Secrecy::none) {
  return {UrlOption::Id::of_libpq, name, UrlOption::Group::libpq, secrecy};
}

inline constexpr std::array<UrlOption, 29> url_options{{
    {UrlOption::Id::database, "db", UrlOption::Group::unix_socket, UrlOption::Secrecy::none},
    {UrlOption::Id::sentinel_user, "sentinel-user", UrlOption::Group::sentinel,
     UrlOption::Secrecy::user_name},
    {UrlOption::Id::sentinel_password, "sentinel-password", UrlOption::Group::sentinel,
     UrlOption::Secrecy::password},
    {UrlOption::Id::ca_file, "cacert", UrlOption::Group::tls, UrlOption::Secrecy::none},
    {UrlOption::Id::certificate, "cert", UrlOption::Group::tls, UrlOption::Secrecy::none},
    {UrlOption::Id::key, "key", UrlOption::Group::tls, UrlOption::Secrecy::none},
    {UrlOption::Id::server_name, "sni", UrlOption::Group::tls, UrlOption::Secrecy::none},
    {UrlOption::Id::skip_verify, "insecure-skip-verify", UrlOption::Group::tls,
     UrlOption::Secrecy::none},
    // libpq accepts more options; those are shown wherever a URL is.
    of_libpq("user", UrlOption::Secrecy::user_name),
    of_libpq("password", UrlOption::Secrecy::password),
    of_libpq("sslpassword", UrlOption::Secrecy::password),
    of_libpq("host"),
    of_libpq("hostaddr"),
    of_libpq("port"),
    of_libpq("dbname"),
    of_libpq("service"),
    of_libpq("passfile"),
    of_libpq("sslmode"),
    of_libpq("sslrootcert"),
    of_libpq("sslcert"),
    of_libpq("sslkey"),
    of_libpq("sslcrl"),
    of_libpq("sslsni"),
    of_libpq("channel_binding"),
    of_libpq("target_session_attrs"),
    of_libpq("application_name"),
    of_libpq("tcp_user_timeout"),
    of_libpq("gssencmode"),
    of_libpq("krbsrvname"),
}};

/// nullptr if no option has that name.
const UrlOption* url_option(std::string_view name);
/// For messages: "the only options after '?' are cacert, cert and key".
std::string accepted_options(const Url& url,
                             const std::function<bool(const UrlOption&)>& is_accepted);

}  // namespace store
