#include "real_redis.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace sim {
namespace {

// ARGV: seconds and µs of TIME; how many have what is left; how many are gone; how many keys; then
// each. All of it in one line, so that the lines of the script keep their numbers in what it says
// of errors.
constexpr auto before = R"lua(
local real, given, at = redis, ARGV, 6
local began = real.call('TIME')
for i = 1, given[3] do real.call('PEXPIRE', given[at], given[at + 1]); at = at + 2 end
for i = 1, given[4] do real.call('DEL', given[at]); at = at + 1 end
local KEYS, ARGV = {}, {}
for i = 1, given[5] do KEYS[i] = given[at]; at = at + 1 end
for i = at, #given do ARGV[i - at + 1] = given[i] end
local function timeless(how)
  return function(name, ...)
    if name == 'TIME' then return {given[1], given[2]} end
    return how(name, ...)
  end
end
local redis = setmetatable({call = timeless(real.call), pcall = timeless(real.pcall)}, {__index = real})
local function step() )lua";
constexpr auto after = R"lua(
end
local fine, reply = pcall(step)
if not fine then  -- Redis's own pcall() has made a string of what redis.call() threw
  reply = {err = reply:find('^user_script:') and 'ERR ' .. reply or reply}
end
local dump = {}
for i, key in ipairs(real.call('KEYS', '*')) do
  local kind = real.call('TYPE', key).ok
  local value
  if kind == 'string' then value = real.call('GET', key)
  elseif kind == 'list' then value = real.call('LRANGE', key, 0, -1)
  else value = real.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
  dump[i] = {key, kind, real.call('PTTL', key), value}
end
table.sort(dump, function(a, b) return a[1] < b[1] end)
for _, each in ipairs(dump) do real.call('PERSIST', each[1]) end
local ended = real.call('TIME')
return {(ended[1] - began[1]) * 1000000 + ended[2] - began[2], {reply}, dump})lua";

std::string wrapped(const std::string& body) {
  std::string head = before;
  for (char& c : head) c = c == '\n' ? ' ' : c;
  return head + body + after;
}

[[noreturn]] void fail(const char* what) {
  throw std::system_error{errno, std::generic_category(), what};
}

}  // namespace

RealConnection::RealConnection(const std::string& socket)
    : descriptor_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof address.sun_path) throw std::runtime_error{"a path too long"};
  std::memcpy(address.sun_path, socket.data(), socket.size());
  if (descriptor_ < 0) fail("socket");
  if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail("connecting to the real server");
  }
}

RealConnection::RealConnection(RealConnection&& other) noexcept
    : descriptor_{std::exchange(other.descriptor_, -1)}, replies_{std::move(other.replies_)} {}

RealConnection::~RealConnection() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void RealConnection::send(const Words& command) {
  const std::string bytes = encode(command);
  for (std::size_t done = 0; done < bytes.size();) {
    const auto count = ::send(descriptor_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (count < 0) fail("sending to the real server");
    done += static_cast<std::size_t>(count);
  }
}

Reply RealConnection::receive() {
  for (;;) {
    if (auto reply = replies_.take_reply()) return *std::move(reply);
    pollfd entry{descriptor_, POLLIN, 0};
    if (::poll(&entry, 1, 10'000) <= 0) throw std::runtime_error{"the real server is silent"};
    std::array<char, 65536> bytes{};
    const auto count = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
    if (count <= 0) throw std::runtime_error{"the real server is gone"};
    replies_.feed({bytes.data(), static_cast<std::size_t>(count)});
  }
}

bool RealConnection::has_input() {
  pollfd entry{descriptor_, POLLIN, 0};
  return !replies_.empty() || ::poll(&entry, 1, 0) > 0;
}

RealRedis::RealRedis(const std::string& socket) : control_{socket} {
  control_.ask({"FLUSHALL"});
  control_.ask({"CONFIG", "SET", "maxmemory", "0"});
}

bool RealRedis::is_7_0() {
  return control_.ask({"INFO", "server"}).text.find("redis_version:7.0.") != std::string::npos;
}

StepResult RealRedis::run(const std::string& body, const Words& keys, const Words& arguments,
                          const Step& step) {
  auto& digest = digests_[body];
  if (digest.empty()) {
    const Reply loaded = control_.ask({"SCRIPT", "LOAD", wrapped(body)});
    if (loaded.is_error()) throw std::runtime_error{"a script does not load: " + loaded.text};
    digest = loaded.text;
  }
  Words command{"EVALSHA",
                digest,
                "0",
                std::to_string(step.now_us / 1'000'000),
                std::to_string(step.now_us % 1'000'000),
                std::to_string(step.remainders.size()),
                std::to_string(step.gone.size()),
                std::to_string(keys.size())};
  for (const auto& [key, ms] : step.remainders) {
    command.push_back(key);
    command.push_back(std::to_string(ms));
  }
  for (const Words* more : {&step.gone, &keys, &arguments}) {
    command.insert(command.end(), more->begin(), more->end());
  }
  Reply answer = control_.ask(command);
  if (answer.kind != Reply::Kind::array || answer.elements.size() != 3) {
    throw std::runtime_error{"a step on the real server: " + shown(answer)};
  }
  auto& inner = answer.elements[1].elements;
  return {answer.elements[0].integer, inner.empty() ? Reply::nil() : std::move(inner[0]),
          std::move(answer.elements[2])};
}

StepResult RealRedis::execute(const Words& command, const Step& step) {
  return run("return redis.pcall(unpack(ARGV))", {}, command, step);
}

}  // namespace sim
