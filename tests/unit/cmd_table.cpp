// A table fits the width that there is.
#include "cmd/table.hpp"

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "lines.hpp"
#include "surroundings.hpp"

namespace unit::cmd_table {

using Kind = cmd::Column::Kind;

namespace {

cmd::Table a_table(const std::string& key, const std::string& holder) {
  cmd::Table table{{{"KEY", Kind::cut_middle},
                    {"STATE", Kind::left, 2},
                    {"FOR", Kind::right},
                    {"TTL", Kind::right, 1},
                    {"HOLDER", Kind::cut_end}}};
  table.add({{key}, {"held"}, {"2m4s"}, {"28s"}, {holder}});
  return table;
}

}  // namespace

TEST_CASE("in a pipe a table is as wide as its cells") {
  CHECK(a_table("a-long-key", "app@web1:1/x").text({}) ==
        "KEY         STATE   FOR  TTL  HOLDER\n"
        "a-long-key  held   2m4s  28s  app@web1:1/x\n");
}

TEST_CASE("where there is room nothing is cut") {
  const auto table = a_table("a-long-key", "app@web1:1/x");
  CHECK(table.text({80}) == table.text({}));
  CHECK(table.text({43}) == table.text({}));
}

TEST_CASE(
    "keys are cut in the middle, holders at the end, whatever the width, to the last column") {
  const std::string key = "ci/group/subgroup/project/deploy-to-production";
  const std::string holder = "gitlab-runner@runner-17.example.org:12345/deploy.sh";
  for (std::size_t columns = 30; columns <= 130; ++columns) {
    CAPTURE(columns);
    const auto lines = lines_of(a_table(key, holder).text({columns}));
    REQUIRE(lines.size() == 2);
    for (const auto& line : lines) CHECK(base::columns_of(line) <= columns);
    if (columns < 100) CHECK(base::columns_of(lines[1]) == columns);
    CHECK(lines[1].starts_with("ci/gr"));
  }
  const auto line = lines_of(a_table(key, holder).text({80}))[1];
  CHECK(line == "ci/group/subgro…-to-production  held   2m4s  28s  gitlab-runner@runner-17.examp…");
}

TEST_CASE("where it is narrow columns are left out, in their order") {
  const auto heading = [](std::size_t columns) {
    return lines_of(a_table("a-key-that-is-long", "app@web1:12345/job.sh").text({columns}))[0];
  };
  CHECK(heading(60).find("TTL") != std::string::npos);
  CHECK(heading(45).find("TTL") != std::string::npos);
  CHECK(heading(40).find("TTL") == std::string::npos);
  CHECK(heading(40).find("STATE") != std::string::npos);
  CHECK(heading(36).find("STATE") == std::string::npos);
  CHECK(heading(36).find("FOR") != std::string::npos);
}

TEST_CASE("a last column that flows goes on in the next line, and below where it is narrow") {
  cmd::Table table{{{"GRANTED", Kind::left}, {"FENCE", Kind::right, 1}, {"HOLDER", Kind::flows}}};
  table.add({{"2026-11-24 10:00:00"}, {"1790000000000000"}, {"app@web1:1/x (a release): why"}});
  table.add({{"2026-11-24 11:00:00"}, {"7"}, {"app@web1:1/x"}});
  const std::string whole = table.text({});
  CHECK(table.text({80}) == whole);
  CHECK(table.text({60}) ==
        "GRANTED              HOLDER\n"
        "2026-11-24 10:00:00  app@web1:1/x (a release): why\n"
        "2026-11-24 11:00:00  app@web1:1/x\n");
  CHECK(table.text({46}) ==
        "GRANTED              HOLDER\n"
        "2026-11-24 10:00:00  app@web1:1/x (a release):\n"
        "                     why\n"
        "2026-11-24 11:00:00  app@web1:1/x\n");
  CHECK(table.text({40}) ==
        "GRANTED                         FENCE\n"
        "2026-11-24 10:00:00  1790000000000000\n"
        "  app@web1:1/x (a release): why\n"
        "2026-11-24 11:00:00                 7\n"
        "  app@web1:1/x\n");
  CHECK(table.text({20}).find("\n  app@web1:1/x (a\n  release): why\n") != std::string::npos);
  for (std::size_t columns = 22; columns < 90; ++columns) {
    CAPTURE(columns);
    for (const auto& line : lines_of(table.text({columns}))) {
      CHECK(base::columns_of(line) <= columns);
    }
  }
}

TEST_CASE("a wide character takes two columns, and what follows it stands in line") {
  cmd::Table table{{{"KEY", Kind::cut_middle}, {"FOR", Kind::right}}};
  table.add({{"数据库"}, {"1s"}});
  table.add({{"deploy"}, {"2s"}});
  table.add({{"e\u0301te"}, {"3s"}});
  CHECK(table.text({}) == "KEY     FOR\n数据库   1s\ndeploy   2s\ne\u0301te      3s\n");
  for (const auto& line : lines_of(table.text({9}))) CHECK(base::columns_of(line) <= 9);
}

TEST_CASE("a colour takes no column, and is closed before the gap") {
  cmd::Table table{{{"STATE", Kind::left}, {"N", Kind::right}}};
  table.add({{"held", cmd::Colour::bad}, {"1"}});
  CHECK(table.text({std::nullopt, true}) ==
        "\x1b[1mSTATE\x1b[0m  \x1b[1mN\x1b[0m\n\x1b[31mheld\x1b[0m   1\n");
}

TEST_CASE("no line has blanks at its end") {
  cmd::Table table{{{"KEY", Kind::left}, {"WHY", Kind::left}}};
  table.add({{"a"}, {""}});
  CHECK(table.text({}) == "KEY  WHY\na\n");
}

TEST_CASE("--color, NO_COLOR and TERM decide, in this order") {
  const Surroundings around;
  const auto look = [](const std::vector<std::string>& words) {
    return cmd::look_of(settings_of(words, cmd::of::list));
  };
  CHECK_FALSE(look({"--color", "never"}).colour);
  CHECK(look({"--color", "always"}).colour);
  around.set("NO_COLOR", "1");
  CHECK(look({"--color", "always"}).colour);
  around.set("RLOCK_COLOR", "never");
  CHECK_FALSE(look({}).colour);
  CHECK_THROWS_AS((void)look({"--color", "mauve"}), cmd::UsageError);
}

TEST_CASE("text is cut in the middle between characters, and both ends are kept") {
  CHECK(base::fit_middle("deploy", 6) == "deploy");
  CHECK(base::fit_middle("deploy-web", 7) == "dep…web");
  CHECK(base::fit_middle("deploy-web", 6) == "dep…eb");
  CHECK(base::fit_middle("数据库备份", 6) == "数…份");
  CHECK(base::fit_middle("数据库备份", 7) == "数…备份");
  CHECK(base::fit_middle("deploy", 2) == "d…");
  CHECK(base::fit_middle("deploy", 0).empty());
  CHECK(base::columns_of("数a\u0301→😀") == 2 + 1 + 1 + 2);
}

}  // namespace unit::cmd_table
