// Cases that depend on neither chance nor time: single commands and small scripts.
#pragma once

#include <memory>
#include <string>

#include "script_engine.hpp"

namespace sim {

/// The same commands to a real server and to the double; says each difference, and returns their
/// number.
std::size_t compare_wire_cases(const std::string& socket, std::shared_ptr<ScriptEngine> engine);

}  // namespace sim
