// Mistakes that are planted one at a time, to see that the simulator finds each: in a script, by
// replacing its text; in the program, at a seam.
#pragma once

#include <string>
#include <vector>

#include "clients.hpp"

namespace sim {

struct Mutant {
  std::string name;
  std::string shape;  // where it is looked for first; empty: everywhere
  std::string from;   // in a script; empty: none
  std::string to;
  Sabotage sabotage{};
};

const std::vector<Mutant>& mutants();

}  // namespace sim
