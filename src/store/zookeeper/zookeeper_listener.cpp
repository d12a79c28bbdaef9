#include "store/zookeeper/zookeeper_listener.hpp"

#include "base/text.hpp"
#include "store/zookeeper/line.hpp"

namespace store::zookeeper {
namespace {

// While there is no connection, the library has to be given time to find another server.
constexpr Millis retry{200};
constexpr Millis for_an_answer{1'000};

class ZooKeeperListener final : public Listener {
 public:
  ZooKeeperListener(std::shared_ptr<Session> session, std::string node, std::string last_word)
      : session_{std::move(session)},
        node_{std::move(node)},
        last_word_{std::move(last_word)},
        due_{Deadline::at(base::now())} {}

  [[nodiscard]] int descriptor() const override { return session_->descriptor(); }
  [[nodiscard]] Deadline due() const override { return due_; }

  void listen(const CallLimit& limit) override {
    const auto until = std::min(limit.until, Deadline::after(base::now(), for_an_answer));
    auto content = session_->get(node_, Session::Watch::yes, {until, limit.interrupt});
    if (std::holds_alternative<Fault>(content)) {
      due_ = Deadline::after(base::now(), retry);
      return;
    }
    due_ = Deadline::never();
    const auto& node = std::get<std::optional<Node>>(content);
    if (!node) {
      heard_ = Notice{Notice::Kind::lost, "its node was removed (force-released)", last_word_};
    } else if (const auto message = message_in(node->data); message.stop) {
      heard_ = Notice{Notice::Kind::stop, base::printable(*message.stop), ""};
    }
  }

  std::optional<Notice> take() override {
    session_->process({Deadline::at(base::now())}, [] { return false; });
    if (session_->expired()) return Notice{Notice::Kind::lost, "the session has expired", ""};
    // What has changed is a question to the server: listen() asks it.
    if (session_->changed(node_)) due_ = Deadline::at(base::now());
    if (session_->descriptor() < 0) due_ = std::min(due_, Deadline::after(base::now(), retry));
    return std::exchange(heard_, std::nullopt);
  }

 private:
  std::shared_ptr<Session> session_;
  std::string node_;
  std::string last_word_;
  Deadline due_;
  std::optional<Notice> heard_;
};

}  // namespace

std::unique_ptr<Listener> open_listener(std::shared_ptr<Session> session, std::string node,
                                        std::string last_word) {
  return std::make_unique<ZooKeeperListener>(std::move(session), std::move(node),
                                             std::move(last_word));
}

}  // namespace store::zookeeper
