// Tokens, labels, keys and holder texts, which anybody may have put on a server.
#include "property.hpp"
#include "store/names.hpp"
#include "store/redis/keys.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  const auto token = store::Token::foreign(std::string{text});
  fuzz::promise(token.text() == text, "a token is kept byte for byte");
  fuzz::promise(base::is_printable(token.shown()), "what is shown is one clean line");
  fuzz::promise(token.shown().size() < 2000, "of a length that people read");
  if (const auto holder = token.parts()) {
    fuzz::promise(text.starts_with(holder->user + '@' + holder->host + ':'), "user and host first");
    fuzz::promise(text.substr(0, text.rfind('#')).ends_with('/' + holder->label), "the label last");
  }
  if (const auto label = store::Label::from(text)) {
    const auto minted = store::Token::mint(*label);
    fuzz::promise(minted.parts() && minted.parts()->label == text, "a label is read back");
    fuzz::promise(base::is_printable(minted.text()), "a token of ours is clean");
  }
  fuzz::promise(store::Label::from(store::Label::tamed(text).text()).has_value(), "tame is fit");
  if (const auto name = store::LockName::from(text)) {
    fuzz::promise(name->text() == text && size <= store::LockName::longest, "a key is kept");
    const store::redis::LockKeys companions{*name};
    // A key that is named like another lock's slot or mailbox is taken for that.
    for (const char* kind : {":rlock:slot:", ":rlock:mail:"}) {
      if (companions.fence.find(kind) != std::string::npos) return 0;
    }
    for (const auto& companion : {companions.fence, companions.queue}) {
      fuzz::promise(store::redis::lock_listed_by(companion, store::Listed::known) == name,
                    "companions name the key");
    }
  }
  (void)store::redis::lock_listed_by(text, store::Listed::known);
  return 0;
}
