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
#include "os/ipc.hpp"
#include "os/trusted_file.hpp"

namespace unit::os_files {

namespace fs = std::filesystem;
using base::Deadline;

namespace {

struct Directory {
  std::string path;

  Directory() {
    std::string name = fs::temp_directory_path() / "rlock-unit.XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Directory() { fs::remove_all(path); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  [[nodiscard]] std::string operator/(const std::string& name) const { return path + "/" + name; }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text,
                                  mode_t mode) const {
    const std::string file = *this / name;
    REQUIRE(os::append_to(file, text));
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    return file;
  }
};

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

const os::CallLimit at_once{Deadline::at(base::Moment{})};

}  // namespace

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

TEST_CASE("the names of a directory are all told") {
  const Directory here;
  (void)here.write("a", "", 0600);
  (void)here.write(".hidden", "", 0600);
  std::vector<std::string> names;
  REQUIRE(os::for_each_name(here.path, [&](std::string_view name) { names.emplace_back(name); }));
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{".", "..", ".hidden", "a"});
  CHECK(os::for_each_name(here / "none", [](std::string_view) {}).error().number == ENOENT);
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
  std::size_t names = 0;
  REQUIRE(os::for_each_name(here.path, [&](std::string_view) { ++names; }));
  CHECK(names == 4);  // nothing is left beside them
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

TEST_CASE("what cannot be made says why") {
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

TEST_CASE("a file is at its name until the name is another's") {
  const Directory here;
  const auto file = here.write("a", "", 0600);
  const os::Fd open{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  CHECK(os::is_at(file, open));
  os::remove_name(file);
  CHECK_FALSE(os::is_at(file, open));
  (void)here.write("a", "", 0600);
  CHECK_FALSE(os::is_at(file, open));
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
  CHECK(os::can_create(link).error().number == EACCES);
  CHECK(os::replace_contents(link, "").error().number == EACCES);
}

TEST_CASE("who may use a directory follows from its mode") {
  const Directory here;
  using With = os::Sharing::With;
  auto sharing = os::sharing_in(here.path, false);
  REQUIRE(sharing);
  CHECK(sharing->with == With::nobody);
  CHECK(sharing->file_mode() == 0600);
  CHECK(sharing->directory_mode() == 0700);
  CHECK(sharing->owner == ::geteuid());
  REQUIRE(::chmod(here.path.c_str(), 0770) == 0);
  sharing = os::sharing_in(here.path, false);
  CHECK(sharing->with == With::group);
  CHECK(sharing->file_mode() == 0660);
  CHECK(sharing->directory_mode() == 02770);
  REQUIRE(::chmod(here.path.c_str(), 01777) == 0);
  CHECK(os::sharing_in(here.path, false)->is_sticky);
  REQUIRE(::chmod(here.path.c_str(), 0777) == 0);
  CHECK(os::sharing_in(here.path, false).error().number == EPERM);
  CHECK(os::sharing_in(here / "none", false).error().number == ENOENT);
  CHECK(os::sharing_in(here.write("file", "", 0600), false).error().number == ENOTDIR);
}

TEST_CASE("a directory is made with all above it, for us alone") {
  const Directory here;
  REQUIRE(os::sharing_in(here / "a/b/c", true));
  CHECK(mode_of(here / "a") == 0700);
  CHECK(mode_of(here / "a/b/c") == 0700);
  REQUIRE(os::sharing_in(here / "a/b/c/", true));
  CHECK(os::sharing_in(here.write("file", "", 0600) + "/d", true).error().number == ENOTDIR);
}

TEST_CASE("a directory is made for those who share it, umask or not") {
  const Directory here;
  const auto umask = ::umask(077);
  const os::Sharing group{os::Sharing::With::group, false, ::geteuid()};
  CHECK(os::make_directory(here / "lock", group));
  CHECK(mode_of(here / "lock") == 02770);
  // One that we were killed over before it had its mode.
  REQUIRE(::mkdir((here / "half").c_str(), 0700) == 0);
  CHECK(os::make_directory(here / "half", group));
  CHECK(mode_of(here / "half") == 02770);
  CHECK(os::write_contents(here / "file", "text", group));
  CHECK(mode_of(here / "file") == 0660);
  ::umask(umask);
  CHECK(os::make_directory(here / "none/lock", group).error().number == ENOENT);
  CHECK(os::write_contents(here / "none/file", "", group).error().number == ENOENT);
}

TEST_CASE("a private directory is ours, and no other user writes to it") {
  const Directory here;
  CHECK(os::private_directory(here / "d", false).error().number == ENOENT);
  CHECK(os::private_directory(here / "d", true));
  CHECK(os::private_directory(here / "d", true));
  CHECK(mode_of(here / "d") == 0700);
  REQUIRE(::chmod((here / "d").c_str(), 0720) == 0);
  CHECK(os::private_directory(here / "d", true).error().number == EPERM);
  CHECK(os::private_directory(here.write("file", "", 0600), false).error().number == EPERM);
  CHECK(os::private_directory(here / "none/d", true).error().number == ENOENT);
}

TEST_CASE("a file is locked by one at a time") {
  const Directory here;
  using Missing = os::Missing;
  const auto path = here / "ledger";
  CHECK(os::LockedFile::open(path, Missing::give_up, {}, at_once).error().number == ENOENT);
  {
    auto first = os::LockedFile::open(path, Missing::create, {}, at_once);
    REQUIRE(first);
    CHECK(first->text(100).value_or("?").empty());
    CHECK(first->overwrite("twelve bytes"));
    CHECK(*first->text(100) == "twelve bytes");
    CHECK(*first->text(6) == "twelve");
    CHECK(os::LockedFile::open(path, Missing::create, {}, at_once).error().number == EAGAIN);
    int ends[2];
    REQUIRE(::pipe(&ends[0]) == 0);
    const os::Fd reader{ends[0]};
    os::Fd writer{ends[1]};
    writer = os::Fd{};  // readable: an interrupt
    CHECK(os::LockedFile::open(path, Missing::give_up, {}, {Deadline::never(), reader.number()})
              .error()
              .number == EINTR);
  }
  CHECK(os::LockedFile::open(path, Missing::give_up, {}, at_once));
  CHECK(os::LockedFile::open(here / "none/file", Missing::create, {}, at_once).error().number ==
        ENOENT);
}

TEST_CASE("a full disk is said, not thrown") {
  using Missing = os::Missing;
  auto full = os::LockedFile::open("/dev/full", Missing::give_up, {}, at_once);
  REQUIRE(full);
  CHECK(full->overwrite("x").error().number == ENOSPC);
}

TEST_CASE("a pipe brings the lines that were left in it") {
  const Directory here;
  const auto path = here / "pipe";
  auto pipe = os::NamedPipe::create(path, {});
  REQUIRE(pipe);
  CHECK(mode_of(path) == 0600);
  CHECK(pipe->in_place());
  CHECK(pipe->take().empty());
  os::post(path, "one");
  os::post(path, "two words");
  CHECK(pipe->take() == std::vector<std::string>{"one", "two words"});
  os::post(path, std::string(3000, 'x'));
  CHECK(pipe->take() == std::vector<std::string>{std::string(os::longest_post, 'x')});
}

TEST_CASE("half a line is kept until the rest comes, but not for ever") {
  const Directory here;
  const auto path = here / "pipe";
  auto pipe = os::NamedPipe::create(path, {});
  REQUIRE(pipe);
  REQUIRE(os::append_to(path, "ha"));
  CHECK(pipe->take().empty());
  REQUIRE(os::append_to(path, "lf\n\n"));
  CHECK(pipe->take() == std::vector<std::string>{"half"});
  REQUIRE(os::append_to(path, std::string(2001, 'x')));
  CHECK(pipe->take().empty());
  os::post(path, "next");
  CHECK(pipe->take() == std::vector<std::string>{"next"});
}

TEST_CASE("a pipe is owned until its last handle is gone") {
  const Directory here;
  const auto path = here / "pipe";
  CHECK_FALSE(os::is_owned(path));
  CHECK_FALSE(os::watch_owner(path));
  auto pipe = os::NamedPipe::create(path, {});
  REQUIRE(pipe);
  CHECK(os::is_owned(path));
  const auto watched = os::watch_owner(path);
  REQUIRE(watched);
  {
    const auto other = pipe->duplicate();
    { const auto gone = *std::move(pipe); }
    CHECK(os::is_owned(path));
    CHECK_FALSE(os::wait_any({}, {watched.number()}, {Deadline::at(base::now())}));
    CHECK(other.in_place());
    os::remove_name(path);
    CHECK_FALSE(other.in_place());
    CHECK_FALSE(os::is_owned(path));
  }
  CHECK(os::wait_any({}, {watched.number()}, {Deadline::never()}));
  os::post(path, "a letter to a pipe that is not there");
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a pipe that a dead process left has no owner") {
  const Directory here;
  const auto path = here / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK_FALSE(os::is_owned(path));
  CHECK_FALSE(os::watch_owner(path));
  os::post(path, "swallowed");
  // Its unfinished name is in the way of a new one.
  REQUIRE(::mkfifo((path + ".new").c_str(), 0600) == 0);
  CHECK(os::NamedPipe::create(path, {}).error().number == EEXIST);
  CHECK(os::NamedPipe::create(here / "none/pipe", {}).error().number == ENOENT);
}

}  // namespace unit::os_files
