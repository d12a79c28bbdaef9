#include "os/time_zone.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "os/fd.hpp"

namespace os {
namespace {

constexpr std::string_view usual_directory = "/usr/share/zoneinfo";

/// "CET-1CEST,M3.5.0,M10.5.0/3", "<+03>-3": a zone that states its own rule (tzset(3)).
bool is_rule(std::string_view zone) {
  constexpr std::string_view digits = "0123456789";
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto letters = std::find_if_not(zone.begin(), zone.end(), is_letter);
  auto end = static_cast<std::size_t>(letters - zone.begin());
  if (zone.starts_with('<')) end = zone.find('>') + 1;  // 0 if there is none
  if (end < 3) return false;
  auto offset = zone.substr(end);
  if (offset.starts_with('+') || offset.starts_with('-')) offset.remove_prefix(1);
  return !offset.empty() && digits.find(offset.front()) != digits.npos;
}

/// Names that the C library treats as UTC without data, rightly.
bool is_utc(std::string_view zone) {
  if (zone.starts_with("Etc/")) zone.remove_prefix(4);
  static constexpr std::array<std::string_view, 6> names{"UTC",  "UCT",       "GMT",
                                                         "Zulu", "Universal", "Greenwich"};
  return std::find(names.begin(), names.end(), zone) != names.end();
}

bool is_zone_data(const std::string& path) {
  const Fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  std::array<char, 4> magic{};
  return file && ::read(file.number(), magic.data(), magic.size()) == 4 &&
         std::string_view{magic.data(), 4} == "TZif";
}

bool is_absent(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) != 0 && errno == ENOENT;
}

}  // namespace

std::optional<std::string> missing_time_zone(const std::string& otherwise) {
  const char* set = std::getenv("TZ");
  std::string zone = set != nullptr ? set : otherwise;
  if (zone.starts_with(':')) zone.erase(0, 1);
  if (zone.empty()) return std::nullopt;
  const char* place = std::getenv("TZDIR");
  const std::string directory{place != nullptr && *place != '\0' ? place : usual_directory};
  const std::string file = zone.starts_with('/') ? zone : directory + "/" + zone;
  if (is_zone_data(file)) return std::nullopt;
  if (set == nullptr) return is_absent(file) ? std::nullopt : std::optional{zone};
  return is_rule(zone) || is_utc(zone) ? std::nullopt : std::optional{zone};
}

}  // namespace os
