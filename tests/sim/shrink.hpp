// A plan that breaks a promise, made as short as it goes.
#pragma once

#include <memory>
#include <string>

#include "clients.hpp"
#include "plan.hpp"

namespace sim {

/// With less in it, and breaking the same promise; as far as a few seconds of search lead.
Plan shrunk(Plan plan, const std::string& violation, const std::shared_ptr<ScriptEngine>& engine,
            const Sabotage& sabotage);

}  // namespace sim
