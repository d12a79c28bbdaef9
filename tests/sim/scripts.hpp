// The program's scripts, all of them, by name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "store/redis/scripts.hpp"

namespace sim {

inline const std::vector<std::pair<std::string, const store::redis::Script*>>& all_scripts() {
  namespace scripts = store::redis::scripts;
  static const std::vector<std::pair<std::string, const store::redis::Script*>> all{
      {"enter", &scripts::enter},
      {"leave", &scripts::leave},
      {"renew", &scripts::renew},
      {"raise", &scripts::raise},
      {"check", &scripts::check},
      {"inspect", &scripts::inspect},
      {"force_release", &scripts::force_release},
      {"ask_to_stop", &scripts::ask_to_stop},
      {"tell", &scripts::tell}};
  return all;
}

}  // namespace sim
