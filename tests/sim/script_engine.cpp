#include "script_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <lua.hpp>
#include <stdexcept>

#include "keyspace.hpp"

namespace sim {
namespace {

// Redis's own (script_lua.c): where an error happened, for its last words.
constexpr auto error_handler = R"lua(
local dbg = debug
return function(err)
  local i = dbg.getinfo(2, 'nSl')
  if i and i.what == 'C' then i = dbg.getinfo(3, 'nSl') end
  if type(err) ~= 'table' then err = {err = 'ERR ' .. tostring(err)} end
  if i then
    err['source'] = i.source
    err['line'] = i.currentline
  end
  return err
end)lua";
const char handler_key = 0;  // its address is the place in the registry

/// "-CODE words" and "words", which gets the code ERR (luaPushErrorBuff of Redis).
std::string with_code(std::string text) {
  if (!text.starts_with('-')) return "ERR " + text;
  text.erase(0, 1);
  return text.find(' ') == std::string::npos ? "ERR " + text : text;
}

void push_text(lua_State* lua, const std::string& text) {
  lua_pushlstring(lua, text.data(), text.size());
}

void push_field(lua_State* lua, const char* name, const std::string& text) {
  lua_createtable(lua, 0, 1);
  push_text(lua, text);
  lua_setfield(lua, -2, name);
}

/// An answer of Redis, as Lua sees it.
void push(lua_State* lua, const Reply& reply) {
  luaL_checkstack(lua, 4, "an answer too deep");
  switch (reply.kind) {
    case Reply::Kind::status: push_field(lua, "ok", reply.text); return;
    case Reply::Kind::error: push_field(lua, "err", reply.text); return;
    case Reply::Kind::integer: lua_pushnumber(lua, static_cast<lua_Number>(reply.integer)); return;
    case Reply::Kind::bulk: push_text(lua, reply.text); return;
    case Reply::Kind::nil:
    case Reply::Kind::nil_array: lua_pushboolean(lua, 0); return;
    case Reply::Kind::array: break;
  }
  lua_createtable(lua, static_cast<int>(reply.elements.size()), 0);
  for (std::size_t i = 0; i < reply.elements.size(); ++i) {
    push(lua, reply.elements[i]);
    lua_rawseti(lua, -2, static_cast<int>(i) + 1);
  }
}

std::string text_at(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* text = lua_tolstring(lua, index, &size);
  return {text, size};
}

/// A field of the table on top, if it is a string.
std::optional<std::string> field(lua_State* lua, const char* name) {
  lua_pushstring(lua, name);
  lua_rawget(lua, -2);
  std::optional<std::string> text;
  if (lua_type(lua, -1) == LUA_TSTRING) text = text_at(lua, -1);
  lua_pop(lua, 1);
  return text;
}

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  return text;
}

/// Pops the top of the stack, as an answer of Redis. Fractions are cut, and so is an array at its
/// first nil.
Reply pop(lua_State* lua) {
  if (lua_checkstack(lua, 4) == 0) throw std::runtime_error{"an answer too deep"};
  Reply reply = Reply::nil();
  switch (lua_type(lua, -1)) {
    case LUA_TSTRING: reply = Reply::bulk(text_at(lua, -1)); break;
    case LUA_TNUMBER:
      reply = Reply::number(static_cast<std::int64_t>(lua_tonumber(lua, -1)));
      break;
    case LUA_TBOOLEAN:
      if (lua_toboolean(lua, -1) != 0) reply = Reply::number(1);
      break;
    case LUA_TTABLE:
      if (auto wrong = field(lua, "err")) {
        reply = Reply::error(one_line(*wrong));
      } else if (auto status = field(lua, "ok")) {
        reply = Reply::status(one_line(*status));
      } else {
        reply = Reply::array({});
        for (int i = 1;; ++i) {
          lua_rawgeti(lua, -1, i);
          if (lua_isnil(lua, -1)) break;
          reply.elements.push_back(pop(lua));
        }
        lua_pop(lua, 1);
      }
      break;
    default: break;
  }
  lua_pop(lua, 1);
  return reply;
}

/// Pops the error of a script from the top of the stack.
Reply pop_death(lua_State* lua, const std::string& digest) {
  Reply reply = Reply::error("ERR error while running script");
  if (lua_istable(lua, -1)) {
    std::string text = field(lua, "err").value_or("ERR unknown error");
    const auto source = field(lua, "source");
    lua_getfield(lua, -1, "line");
    const auto place = static_cast<int>(lua_tointeger(lua, -1));
    const bool placed = lua_isnumber(lua, -1) != 0 && source;
    lua_pop(lua, 1);
    if (placed) text += fmt::format(" script: {}, on {}:{}.", digest, *source, place);
    reply.text = one_line(std::move(text));
  }
  lua_pop(lua, 1);
  return reply;
}

int no_such_global(lua_State* lua) {
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                    luaL_checkstring(lua, 2));
}

int read_only(lua_State* lua) {
  return luaL_error(lua, "Attempt to modify a readonly table");
}

/// redis.status_reply() and redis.error_reply(): a table of one field.
void reply_of(lua_State* lua, bool is_error) {
  if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) {
    push_field(lua, "err", "ERR wrong number or type of arguments");
  } else if (is_error) {
    const std::string text = text_at(lua, 1);
    push_field(lua, "err", with_code(text.starts_with('-') ? text : '-' + text));
  } else {
    push_field(lua, "ok", text_at(lua, 1));
  }
}
int status_reply(lua_State* lua) {
  reply_of(lua, false);
  return 1;
}
int error_reply(lua_State* lua) {
  reply_of(lua, true);
  return 1;
}

/// Redis's pcall(): of an error that redis.call() threw, the text alone.
int protected_call(lua_State* lua) {
  luaL_checkany(lua, 1);
  const bool died = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0) != 0;
  if (died && lua_istable(lua, -1)) {
    lua_getfield(lua, -1, "err");
    if (lua_isstring(lua, -1) != 0) {
      lua_replace(lua, -2);
    } else {
      lua_pop(lua, 1);
    }
  }
  lua_pushboolean(lua, died ? 0 : 1);
  lua_insert(lua, 1);
  return lua_gettop(lua);
}

void set_words(lua_State* lua, const char* name, std::span<const std::string> words) {
  lua_pushstring(lua, name);
  lua_createtable(lua, static_cast<int>(words.size()), 0);
  for (std::size_t i = 0; i < words.size(); ++i) {
    push_text(lua, words[i]);
    lua_rawseti(lua, -2, static_cast<int>(i) + 1);
  }
  lua_rawset(lua, LUA_GLOBALSINDEX);
}

/// The arguments of redis.call() go into `words`, whose memory is used again; false if one is no
/// string and no number.
bool take_arguments(lua_State* lua, Words& words) {
  const int count = lua_gettop(lua);
  words.resize(static_cast<std::size_t>(count));
  for (int i = 1; i <= count; ++i) {
    std::string& word = words[static_cast<std::size_t>(i) - 1];
    if (lua_type(lua, i) == LUA_TNUMBER) {
      word = number_text(lua_tonumber(lua, i));
    } else if (lua_isstring(lua, i) != 0) {
      std::size_t size = 0;
      const char* text = lua_tolstring(lua, i, &size);
      word.assign(text, size);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

void ScriptEngine::Close::operator()(lua_State* lua) const {
  lua_close(lua);
}

ScriptEngine::ScriptEngine() : lua_{luaL_newstate()} {
  lua_State* lua = lua_.get();
  if (lua == nullptr) throw std::bad_alloc{};
  luaL_openlibs(lua);
  if (luaL_dostring(lua, error_handler) != 0) throw std::runtime_error{"the handler of errors"};
  lua_pushlightuserdata(lua, const_cast<char*>(&handler_key));
  lua_insert(lua, -2);
  lua_rawset(lua, LUA_REGISTRYINDEX);
  // A script can reach neither files nor other programs.
  for (const char* name :
       {"io", "package", "require", "module", "dofile", "loadfile", "debug", "os"}) {
    lua_pushnil(lua);
    lua_setglobal(lua, name);
  }
  lua_pushcfunction(lua, protected_call);
  lua_setglobal(lua, "pcall");
  lua_createtable(lua, 0, 4);
  const auto add = [lua, this](const char* name, lua_CFunction function) {
    lua_pushlightuserdata(lua, this);
    lua_pushcclosure(lua, function, 1);
    lua_setfield(lua, -2, name);
  };
  add("call", call);
  add("pcall", pcall);
  add("status_reply", status_reply);
  add("error_reply", error_reply);
  lua_setglobal(lua, "redis");
  lua_pushvalue(lua, LUA_GLOBALSINDEX);
  lua_createtable(lua, 0, 2);
  lua_pushcfunction(lua, no_such_global);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, read_only);
  lua_setfield(lua, -2, "__newindex");
  lua_setmetatable(lua, -2);
  lua_pop(lua, 1);
}

bool ScriptEngine::call_out(lua_State* lua) {
  const bool whole = take_arguments(lua, words_);
  if (lua_gettop(lua) == 0) {
    push_field(lua, "err", "ERR Please specify at least one argument for this redis lib call");
    return true;
  }
  if (!whole) {
    push_field(lua, "err", "ERR Lua redis lib command arguments must be strings or integers");
    return true;
  }
  const Reply reply = (*call_)(words_);
  push(lua, reply);
  return reply.is_error();
}

int ScriptEngine::call(lua_State* lua) {
  auto* self = static_cast<ScriptEngine*>(lua_touserdata(lua, lua_upvalueindex(1)));
  return self->call_out(lua) ? lua_error(lua) : 1;
}

int ScriptEngine::pcall(lua_State* lua) {
  auto* self = static_cast<ScriptEngine*>(lua_touserdata(lua, lua_upvalueindex(1)));
  self->call_out(lua);
  return 1;
}

const std::string& ScriptEngine::digest_of(const std::string& body) {
  auto& digest = digests_[body];
  if (digest.empty()) digest = sha1(body);
  return digest;
}

std::optional<std::string> ScriptEngine::compile(const std::string& digest, std::string_view body) {
  if (functions_.contains(digest)) return std::nullopt;
  lua_State* lua = lua_.get();
  std::string text{body};
  if (const auto at = from_.empty() ? std::string::npos : body.find(from_);
      at != std::string::npos) {
    text.replace(at, from_.size(), to_);
    ++rewritten_;
  }
  if (luaL_loadbuffer(lua, text.data(), text.size(), "@user_script") != 0) {
    const std::string why = text_at(lua, -1);
    lua_pop(lua, 1);
    return "ERR Error compiling script (new function): " + one_line(why);
  }
  functions_.emplace(digest, luaL_ref(lua, LUA_REGISTRYINDEX));
  return std::nullopt;
}

void ScriptEngine::rewrite(std::string from, std::string to) {
  from_ = std::move(from);
  to_ = std::move(to);
}

void ScriptEngine::count_lines() {
  lua_State* lua = lua_.get();
  lua_pushlightuserdata(lua, this);
  lua_setfield(lua, LUA_REGISTRYINDEX, "engine");
  const auto note = [](lua_State* running, lua_Debug* where) {
    lua_getfield(running, LUA_REGISTRYINDEX, "engine");
    auto* self = static_cast<ScriptEngine*>(lua_touserdata(running, -1));
    lua_pop(running, 1);
    if (self->running_ != nullptr) self->lines_.emplace(*self->running_, where->currentline);
  };
  lua_sethook(lua, note, LUA_MASKLINE, 0);
}

Reply ScriptEngine::run(const std::string& digest, std::span<const std::string> keys,
                        std::span<const std::string> arguments, const ScriptCall& call) {
  lua_State* lua = lua_.get();
  call_ = &call;
  running_ = &digest;
  set_words(lua, "KEYS", keys);
  set_words(lua, "ARGV", arguments);
  lua_pushlightuserdata(lua, const_cast<char*>(&handler_key));
  lua_rawget(lua, LUA_REGISTRYINDEX);
  const int handler = lua_gettop(lua);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, functions_.at(digest));
  const bool died = lua_pcall(lua, 0, 1, handler) != 0;
  Reply reply = died ? pop_death(lua, digest) : pop(lua);
  lua_pop(lua, 1);
  return reply;
}

}  // namespace sim
