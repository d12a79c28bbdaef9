#include "records_on_redis.hpp"

#include <algorithm>
#include <string>

#include "base/fields.hpp"
#include "os/host.hpp"
#include "script_engine.hpp"
#include "store/redis/client.hpp"
#include "store/redis/keys.hpp"
#include "store/redis/scripts.hpp"

namespace sim {
namespace {

using namespace store;

// The record is in the place of the fence, which may stay for a day, with its version before it;
// the mailboxes are where they are.
constexpr std::string_view read_body = R"lua(
local now = redis.call('TIME')
return {redis.call('GET', KEYS[4]) or '0\n', string.format('%.0f', now[1] * 1000000 + now[2])}
)lua";
constexpr std::string_view swap_body = R"lua(
local mailbox, before, text = ARGV[1], ARGV[2], ARGV[3]
local now = redis.call('TIME')
local version = string.match(redis.call('GET', KEYS[4]) or '0', '^%d+')
local us = string.format('%.0f', now[1] * 1000000 + now[2])
if before ~= 'any' and version ~= before or us + 0 > tonumber(ARGV[4]) then return {redis.call('GET', KEYS[4]) or '0\n', us} end
local after = string.format('%.0f', math.max(version + 1, now[1] * 1000000 + now[2]))
redis.call('SET', KEYS[4], after .. '\n' .. text, 'PX', 86400000)
for i = 5, #ARGV, 2 do
  for _, ear in ipairs(redis.call('ZRANGE', mailbox .. ARGV[i], 0, -1)) do
    redis.call('RPUSH', mailbox .. ear, ARGV[i + 1])
    redis.call('PEXPIRE', mailbox .. ear, 60000)
  end
end
return {after, us, 'written'}
)lua";
// The listeners of each address: each connection hears all of them.
constexpr std::string_view listen_body = R"lua(
local mailbox, whom, ear = ARGV[1], ARGV[2], ARGV[3]
redis.call('ZADD', mailbox .. whom, 0, ear)
redis.call('PEXPIRE', mailbox .. whom, 3600000)
return 1
)lua";

constexpr Millis listening{60'000};

const redis::Script& script_of(std::string_view body) {
  static const std::string read_sha1 = sha1(read_body);
  static const std::string swap_sha1 = sha1(swap_body);
  static const redis::Script read{read_sha1, read_body};
  static const redis::Script swap{swap_sha1, swap_body};
  static const std::string listen_sha1 = sha1(listen_body);
  static const redis::Script listen{listen_sha1, listen_body};
  return body == read_body ? read : body == swap_body ? swap : listen;
}

class RecordsOnRedis final : public records::Records {
 public:
  RecordsOnRedis(const RedisServer& server, const BadRecords& bad)
      : client_{server}, ear_{server}, bad_{bad} {}

  Result<records::Snapshot> read(const LockName& name, const CallLimit& limit) override {
    auto answer = client_.run_script(script_of(read_body), name, {}, limit);
    if (!answer) return std::move(answer).error();
    return snapshot_in(*answer);
  }

  Result<records::Swapped> swap(const LockName& name, const records::Swap& swap,
                                const CallLimit& limit) override {
    std::vector<std::string> arguments{bad_.swaps_blindly ? "any" : std::to_string(swap.version),
                                       swap.text, std::to_string(swap.latest_us + late_us_)};
    for (const auto& each : swap.posts) {
      if (bad_.loses_posts) continue;
      arguments.push_back(each.to);
      arguments.push_back(each.message);
    }
    auto answer = client_.run_script(script_of(swap_body), name, arguments, limit);
    if (!answer) return std::move(answer).error();
    if ((*answer)[2].text().empty()) {
      auto snapshot = snapshot_in(*answer);
      if (!snapshot) return std::move(snapshot).error();
      return records::Swapped{*std::move(snapshot)};
    }
    const auto version = base::number_in<std::uint64_t>((*answer)[0].text());
    const auto now_us = base::number_in<std::uint64_t>((*answer)[1].text());
    if (!version || !now_us) return redis::nonsense();
    return records::Swapped{records::Written{*version, *now_us - late_us_}};
  }

  Result<std::vector<records::Named>> page(const std::string& /*after*/,
                                           const CallLimit& /*limit*/) override {
    return std::vector<records::Named>{};  // no client of the world makes a list
  }

  Result<records::Posts> listen(const LockName& name, const std::string& whom,
                                const CallLimit& limit) override {
    ear_.drop();
    const std::string ear = os::random_hex(20);
    mailbox_ = redis::LockKeys{name}.mailbox + ear;
    auto added = ear_.run_script(script_of(listen_body), name, {whom, ear}, limit);
    if (!added) return std::move(added).error();
    auto sent = ear_.send(redis::blocking_pop({mailbox_}, listening), limit);
    if (!sent) return std::move(sent).error();
    return records::Posts::arrive;
  }
  [[nodiscard]] int descriptor() const override { return ear_.descriptor(); }
  Result<std::optional<std::string>> take() override {
    if (ear_.descriptor() < 0) return Fault{Fault::Kind::unreachable, "no connection"};
    const CallLimit at_once{Deadline::at(base::now())};
    auto answer = ear_.receive(at_once);
    if (answer && !*answer) return std::optional<std::string>{};
    if (!answer || (*answer)->is_error()) {
      ear_.drop();
      return Fault{Fault::Kind::silent, "the connection is gone"};
    }
    const std::string word{(**answer)[1].text()};
    if (!ear_.send(redis::blocking_pop({mailbox_}, listening), at_once)) ear_.drop();
    return word.empty() ? std::optional<std::string>{} : std::optional{word};
  }

 private:
  [[nodiscard]] Result<records::Snapshot> snapshot_in(const redis::Reply& answer) const {
    const std::string_view text = answer[0].text();
    const auto end = std::min(text.find('\n'), text.size());
    const auto version = base::number_in<std::uint64_t>(text.substr(0, end));
    const auto now_us = base::number_in<std::uint64_t>(answer[1].text());
    if (!version || !now_us || end == text.size()) return redis::nonsense();
    return records::Snapshot{std::string{text.substr(end + 1)}, *version, *now_us - late_us_};
  }

  redis::Client client_;
  redis::Client ear_;
  BadRecords bad_;
  // To some of its clients such a server tells an older time than to others.
  std::uint64_t late_us_ = bad_.tells_old_time && os::random_between(0, 1) == 1 ? 3'000'000 : 0;
  std::string mailbox_;
};

}  // namespace

records::OpenRecords records_on(const RedisServer& server, const BadRecords& bad) {
  return [server, bad] { return std::make_unique<RecordsOnRedis>(server, bad); };
}

std::optional<RecordWritten> record_written_by(const Words& words) {
  constexpr std::size_t lock = 3;
  constexpr std::size_t text = 12;  // behind seven keys, where the mailboxes are, and the version
  const auto& swap = script_of(swap_body);
  if (words.size() <= text || (words[1] != swap.sha1 && words[1] != swap.body)) return std::nullopt;
  return RecordWritten{words[lock], words[text]};
}

}  // namespace sim
