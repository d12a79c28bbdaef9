#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "base/result.hpp"

namespace unit::base_result {

using Number = base::Result<int, std::string>;

TEST_CASE("a result is the value or the error") {
  const Number seven = 7;
  CHECK(seven);
  CHECK(*seven == 7);

  const Number none = std::string{"no number"};
  CHECK_FALSE(none);
  CHECK(none.error() == "no number");
  CHECK_THROWS_AS((void)*none, std::bad_variant_access);
}

TEST_CASE("a result hands over what can only be moved") {
  base::Result<std::unique_ptr<int>, std::string> made = std::make_unique<int>(5);
  const std::unique_ptr<int> ours = *std::move(made);
  CHECK(*ours == 5);
}

TEST_CASE("match calls the arm of the alternative that is there") {
  const std::variant<int, std::string> outcome = std::string{"text"};
  const auto seen = base::match(
      outcome, [](int) { return std::string{"int"}; },
      [](const std::string& text) { return text; });
  CHECK(seen == "text");
}

TEST_CASE("a secret is revealed by its one name") {
  CHECK(base::Secret{}.empty());
  CHECK(base::Secret{"hunter2"}.reveal() == "hunter2");
}

}  // namespace unit::base_result
