// The Lua scripts, embedded at build time from lua/*.lua, each behind lua/prologue.lua.
#pragma once

#include <string_view>

namespace store::redis {

struct Script {
  std::string_view sha1;  // of the body, as EVALSHA wants it
  std::string_view body;
};

namespace scripts {
extern const Script enter;
extern const Script leave;
extern const Script renew;
extern const Script raise;
extern const Script check;
extern const Script inspect;
extern const Script force_release;
extern const Script ask_to_stop;
}  // namespace scripts

}  // namespace store::redis
