#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "os/file.hpp"
#include "os/objection.hpp"
#include "os/trusted_file.hpp"
#include "temporary_directory.hpp"

namespace unit::os_files {

namespace fs = std::filesystem;

namespace {

using Directory = TemporaryDirectory;

}  // namespace

TEST_CASE("a user has a number in a user namespace if a line of its map has it") {
  CHECK(os::has_number("         0          0 4294967295\n", 65534));
  CHECK_FALSE(os::has_number("0 1000 1\n", 65534));
  CHECK_FALSE(os::has_number("", 0));
  const auto* rootless = "0 1000 1\n1 100000 65533\n";
  CHECK(os::has_number(rootless, 65533));
  CHECK_FALSE(os::has_number(rootless, 65534));
}

TEST_CASE("the directory of a path ends with a slash") {
  CHECK(os::directory_of("a") == ".");
  CHECK(os::directory_of("a/b") == "a/");
  CHECK(os::directory_of("/b") == "/");
  CHECK(os::directory_of("/a/b/c") == "/a/b/");
}

TEST_CASE("a file is read whole") {
  const Directory here;
  const std::string text(10'000, 'x');
  CHECK(*os::contents_of(here.write("long", text, 0600)) == text);
  CHECK(os::contents_of(here.write("empty", "", 0600)).value_or("?").empty());
  CHECK(os::contents_of(here / "none").error().number == ENOENT);
  CHECK(os::contents_of(here.path).error().number == EISDIR);
}

TEST_CASE("a file is replaced as a whole, for its owner alone") {
  const Directory here;
  const auto file = here.write("status", "old and longer", 0644);
  REQUIRE(os::can_create(file));
  REQUIRE(os::replace_contents(file, "new"));
  CHECK(*os::contents_of(file) == "new");
  CHECK(mode_of(file) == 0600);
  REQUIRE(os::replace_contents(here / "made", "first"));
  CHECK(*os::contents_of(here / "made") == "first");
  const fs::directory_iterator names{here.path};
  CHECK(std::distance(begin(names), end(names)) == 2);  // nothing is left beside them
}

TEST_CASE("a link of ours is followed") {
  const Directory here;
  const auto file = here.write("real", "old", 0600);
  fs::create_symlink(file, here / "link");
  REQUIRE(os::replace_contents(here / "link", "new"));
  CHECK(fs::is_symlink(here / "link"));
  CHECK(*os::contents_of(file) == "new");
}

TEST_CASE("a pipe is written to, not replaced") {
  const Directory here;
  REQUIRE(::mkfifo((here / "pipe").c_str(), 0600) == 0);
  const os::Fd reader{::open((here / "pipe").c_str(), O_RDWR | O_CLOEXEC)};
  REQUIRE(os::can_create(here / "pipe"));
  REQUIRE(os::replace_contents(here / "pipe", "text"));
  CHECK(fs::is_fifo(here / "pipe"));
  char text[5] = {};
  CHECK(::read(reader.number(), &text[0], 4) == 4);
  CHECK(std::string{&text[0]} == "text");
  CHECK(os::replace_contents("/dev/null", "text"));
}

TEST_CASE("a file that cannot be made has a reason") {
  const Directory here;
  CHECK(os::can_create(here.path).error().number == EISDIR);
  CHECK(os::can_create(here / "none/file").error().number == ENOENT);
  CHECK(os::can_create("").error().number == ENOENT);
  CHECK(os::replace_contents(here / "none/file", "").error().number == ENOENT);
  CHECK(os::append_to(here / "none/file", "").error().number == ENOENT);
  CHECK(os::append_to("/dev/full", "x").error().number == ENOSPC);
}

TEST_CASE("texts are appended") {
  const Directory here;
  REQUIRE(os::append_to(here / "log", "one\n"));
  REQUIRE(os::append_to(here / "log", "two\n"));
  CHECK(*os::contents_of(here / "log") == "one\ntwo\n");
}

TEST_CASE("a file that decides what we do is read if no other user could write it") {
  const Directory here;
  CHECK(*os::contents_of_ours(here.write("config", "text", 0644)) == "text");
  CHECK(os::contents_of_ours(here / "none").error().number == ENOENT);
  CHECK(os::contents_of_ours("/dev/null").value_or("?").empty());
}

TEST_CASE("a file that others may write to is not trusted, and the way out is named") {
  const Directory here;
  for (const mode_t mode : {0664U, 0646U, 0666U}) {
    const auto file = here.write("config " + std::to_string(mode), "text", mode);
    const auto text = os::contents_of_ours(file);
    REQUIRE_FALSE(text);
    CHECK(text.error().number == 0);
    CHECK(text.error().text() == "others may write to it: chmod go-w '" + file + "'");
  }
}

TEST_CASE("a file in a directory that others may write to is not trusted, unless it is sticky") {
  const Directory here;
  const auto file = here.write("config", "text", 0600);
  REQUIRE(::chmod(here.path.c_str(), 0777) == 0);
  CHECK(os::contents_of_ours(file).error().text() ==
        "others may write to its directory: chmod go-w " + here.path + "/");
  REQUIRE(::chmod(here.path.c_str(), 01777) == 0);
  CHECK(os::contents_of_ours(file));
}

TEST_CASE("a secret that others may read is not used") {
  const Directory here;
  CHECK(*os::contents_of_secret(here.write("good", "secret", 0600)) == "secret");
  CHECK(os::check_secret(here / "good"));
  for (const mode_t mode : {0604U, 0620U, 0602U, 0666U}) {
    const auto file = here.write("bad" + std::to_string(mode), "secret", mode);
    const auto text = os::contents_of_secret(file);
    REQUIRE_FALSE(text);
    CHECK(text.error().number == 0);
    CHECK(text.error().text() == "others may read it: chmod go= " + file);
    CHECK_FALSE(os::check_secret(file));
  }
  // A group may read what is root's.
  const auto shared = here.write("group", "secret", 0640);
  CHECK(static_cast<bool>(os::contents_of_secret(shared)) == (::geteuid() == 0));
  CHECK(os::contents_of_secret(here / "none").error().number == ENOENT);
  CHECK(os::contents_of_secret("/dev/null"));
}

TEST_CASE("another user's file is not trusted" * doctest::skip(::geteuid() != 0)) {
  const Directory here;
  const auto file = here.write("config", "text", 0600);
  REQUIRE(::chown(file.c_str(), 12345, 12345) == 0);
  CHECK(os::contents_of_ours(file).error().text() ==
        "it belongs to user 12345, not to you or root: chown 0 " + file);
  REQUIRE(::chown(here.path.c_str(), 12345, 12345) == 0);
  CHECK(os::contents_of_ours(file).error().text() ==
        "its directory belongs to user 12345, not to you or root: chown 0 " + here.path + "/");
}

TEST_CASE("another user's link is not followed" * doctest::skip(::geteuid() != 0)) {
  const Directory here;
  const auto file = here.write("config", "text", 0600);
  const auto link = here / "link";
  fs::create_symlink(file, link);
  REQUIRE(::lchown(link.c_str(), 12345, 12345) == 0);
  CHECK(os::contents_of_ours(link).error().text() ==
        "it is a link that belongs to user 12345, not to you or root: rm " + link);
  CHECK(os::can_create(link).error().text() == os::contents_of_ours(link).error().text());
  CHECK(os::replace_contents(link, "").error().text() == os::can_create(link).error().text());
}

}  // namespace unit::os_files
