// A session with an etcd cluster: a lease, to which the keys of its nodes are attached.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/etcd/cluster.hpp"
#include "store/etcd/gateway.hpp"
#include "store/etcd/lease_time.hpp"
#include "store/etcd/transaction.hpp"
#include "store/etcd/watch.hpp"
#include "store/sessions/session.hpp"

namespace store::etcd {

/// The lease is granted before the first node that needs it, so that a process that only looks
/// writes nothing.
class Client final : public sessions::Session {
 public:
  /// `ttl` is how long the cluster is to keep the session without a sign of life.
  static Result<std::shared_ptr<Client>> open(const Etcd& cluster, Ttl ttl, const CallLimit& limit);
  /// Revokes the lease, if a member answers soon.
  ~Client() override;

  [[nodiscard]] bool expired() const override { return expired_; }
  [[nodiscard]] Ttl lease_within(Ttl wanted) const override {
    return etcd::lease_within(time_.length(), wanted);
  }
  [[nodiscard]] Moment lease_counts_from(Moment asked_at) const override {
    return time_.counts_from(asked_at);
  }
  [[nodiscard]] sessions::Places places_of(const LockName& name) const override;
  [[nodiscard]] std::string last_word_of(std::string_view nonce) const override;
  Result<std::vector<LockName>> names(const std::string& pattern, const CallLimit& limit) override;
  std::int64_t now_ms(const CallLimit& limit) override;
  void give_away() override { is_given_away_ = true; }
  Result<std::optional<Millis>> time_left(const std::string& path, const CallLimit& limit) override;

  sessions::Answers ask(const sessions::Round& round, const CallLimit& limit) override;
  Result<bool> keep(const std::string& path, const CallLimit& limit) override;

  Result<base::Done> await_connection(const CallLimit& limit) override;
  void leave_server() override;
  bool process(const CallLimit& limit, const std::function<bool()>& done) override;
  [[nodiscard]] int descriptor() const override { return watches_.descriptor(); }
  Change change_of(const std::string& path) override { return watches_.change_of(path); }

 private:
  Client(const Etcd& cluster, Ttl ttl) : prefix_{cluster.prefix}, ttl_{ttl}, gateway_{cluster} {}

  struct Lease {
    std::int64_t number;
    Millis length;
    Moment asked_at;
  };
  Result<Lease> grant(std::int64_t seconds, const CallLimit& limit);
  /// The leases that the change needs: the session's, and one for what is to last without it.
  Result<base::Done> grant_for(const sessions::Transaction& change, const CallLimit& limit);
  /// Asks for a renewal; the term of the member that answered, 0 if the lease is gone.
  Result<std::int64_t> keep_alive(const CallLimit& limit);
  /// The same, and makes sure that a lease that is said to be gone is.
  Result<std::int64_t> renew(const CallLimit& limit);
  base::Result<TransactionAnswer, Trouble> ask_part(const sessions::Round& round,
                                                    const CallLimit& limit);
  [[nodiscard]] Asker asker() const;
  void add_names(const std::string& below, std::vector<std::string>& names);
  Result<base::Done> add_keys(const std::string& below, std::vector<std::string>& keys,
                              const CallLimit& limit);

  std::string prefix_;
  Ttl ttl_;
  Gateway gateway_;
  Watches watches_;
  std::int64_t lease_ = 0;        // its number; 0: not granted
  std::int64_t other_lease_ = 0;  // of the change under way, for nodes that last without us
  bool is_given_away_ = false;
  LeaseTime time_;
  bool expired_ = false;
};

}  // namespace store::etcd
