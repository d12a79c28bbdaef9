// A directory held by descriptor: who may use it, what is refused in it; its locks and pipes.
#include "os/directory.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "os/file.hpp"
#include "os/ipc.hpp"
#include "temporary_directory.hpp"

namespace unit::os_directory {

namespace fs = std::filesystem;
using base::Deadline;

namespace {

using os::Missing;
constexpr auto create = Missing::create;
constexpr auto give_up = Missing::give_up;
constexpr std::size_t plenty = 1'000;
constexpr uid_t somebody = 12345;
const bool is_root = ::geteuid() == 0;

struct Directory : TemporaryDirectory {
  [[nodiscard]] os::Directory open() const { return *os::Directory::open(path, give_up); }
};

void give_to(uid_t user, const std::string& path) {
  REQUIRE(::lchown(path.c_str(), user, user) == 0);
}

uid_t owner_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_uid;
}

/// An objection to what is there, which names it.
template <class T>
void check_refused(const os::Result<T>& result, const std::string& path, const std::string& why) {
  REQUIRE_FALSE(result);
  CHECK(result.error().number == 0);
  CHECK(result.error().text().find(path) != std::string::npos);
  CHECK(result.error().text().find(why) != std::string::npos);
}

const os::CallLimit at_once{Deadline::at(base::Moment{})};

}  // namespace

TEST_CASE("the names of a directory are all told") {
  const Directory here;
  (void)here.write("a", "", 0600);
  (void)here.write(".hidden", "", 0600);
  std::vector<std::string> names;
  REQUIRE(here.open().for_each_name([&](std::string_view name) { names.emplace_back(name); }));
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{".", "..", ".hidden", "a"});
  CHECK(os::Directory{}.for_each_name([](std::string_view) {}).error().number == ENOENT);
}

TEST_CASE("the mode of a directory decides its users") {
  const Directory here;
  using With = os::Sharing::With;
  auto sharing = here.open().sharing();
  CHECK(sharing.with == With::nobody);
  CHECK(sharing.file_mode() == 0600);
  CHECK(sharing.directory_mode() == 0700);
  CHECK(sharing.owner == ::geteuid());
  REQUIRE(::chmod(here.path.c_str(), 0770) == 0);
  sharing = here.open().sharing();
  CHECK(sharing.with == With::group);
  CHECK(sharing.file_mode() == 0660);
  CHECK(sharing.directory_mode() == 02770);
  REQUIRE(::chmod(here.path.c_str(), 01777) == 0);
  CHECK(here.open().sharing().is_sticky);
  REQUIRE(::chmod(here.path.c_str(), 0777) == 0);
  CHECK(os::Directory::open(here.path, give_up).error().number == EPERM);
  CHECK(os::Directory::open(here / "none", give_up).error().number == ENOENT);
  CHECK(os::Directory::open(here.write("file", "", 0600), give_up).error().number == ENOTDIR);
}

TEST_CASE("a directory is made with all above it, for us alone") {
  const Directory here;
  REQUIRE(os::Directory::open(here / "a/b/c", create));
  CHECK(mode_of(here / "a") == 0700);
  CHECK(mode_of(here / "a/b/c") == 0700);
  REQUIRE(os::Directory::open(here / "a//b/./c/", create));
  REQUIRE(os::Directory::open(here / "a/b/c/../d/", create));
  CHECK(mode_of(here / "a/b/d") == 0700);
  CHECK(os::Directory::open(here.write("file", "", 0600) + "/d", create).error().number == ENOTDIR);
}

TEST_CASE("links of ours lead to a directory, relative ones and those in the middle as well") {
  const Directory here;
  REQUIRE(os::Directory::open(here / "a/b/c", create));
  fs::create_symlink("a/b", here / "relative");
  fs::create_symlink(here / "relative/c", here / "absolute");
  fs::create_symlink("../../a/b/c/", here / "a/b/up");
  fs::create_symlink("loop", here / "loop");
  for (const char* way : {"relative/c", "absolute", "absolute/", "a/b/up", "relative/up/../c"}) {
    CAPTURE(way);
    const auto opened = os::Directory::open(here / way, give_up);
    REQUIRE(opened);
    CHECK(opened->is_in_place().value_or(false));
    REQUIRE(opened->open_file("ledger", create, plenty));
    CHECK(fs::remove(here / "a/b/c/ledger"));
  }
  CHECK(os::Directory::open(here / "loop", create).error().number == ELOOP);
}

TEST_CASE("no link of another user leads to one" * doctest::skip(!is_root)) {
  const Directory here;
  REQUIRE(os::Directory::open(here / "a/b", create));
  fs::create_symlink("a", here / "link");
  give_to(somebody, here / "link");
  for (const char* way : {"link", "link/b", "link/new"}) {
    check_refused(os::Directory::open(here / way, create), here / "link", "belongs to user 12345");
  }
  CHECK_FALSE(fs::exists(here / "a/new"));
}

TEST_CASE("a directory is made below one for those who share it, umask or not") {
  const Directory here;
  const auto umask = ::umask(077);
  REQUIRE(::chmod(here.path.c_str(), 0770) == 0);
  const auto locks = here.open();
  CHECK(locks.below("none", give_up).error().number == ENOENT);
  REQUIRE(locks.below("lock", create));
  CHECK(mode_of(here / "lock") == 02770);
  REQUIRE(locks.write_contents("file", "text"));
  CHECK(mode_of(here / "file") == 0660);
  ::umask(umask);
  // Of those who were killed in between.
  REQUIRE(::mkdir((here / "half").c_str(), 0700) == 0);
  REQUIRE(locks.below("half", create));
  CHECK(mode_of(here / "half") == 02770);
  (void)here.write("half/ledger", "", 0600);
  REQUIRE(locks.below("half", give_up)->open_file("ledger", create, plenty));
  CHECK(mode_of(here / "half/ledger") == 0660);
}

TEST_CASE("a file that existed before keeps its mode and its owner") {
  const Directory here;
  REQUIRE(::mkdir((here / "old").c_str(), 0700) == 0);
  (void)here.write("old/ledger", "x", 0600);
  REQUIRE(::chmod(here.path.c_str(), 02770) == 0);
  if (is_root) give_to(somebody, here.path);
  const auto old = here.open().below("old", create);
  REQUIRE(old);
  REQUIRE(old->open_file("ledger", create, plenty));
  REQUIRE(old->write_contents("ledger", "y"));
  CHECK(mode_of(here / "old") == 0700);
  CHECK(mode_of(here / "old/ledger") == 0600);
  CHECK(owner_of(here / "old/ledger") == ::geteuid());
  CHECK(owner_of(here / "old") == ::geteuid());
}

TEST_CASE("root gives what it makes to the directory's owner" * doctest::skip(!is_root)) {
  const Directory here;
  give_to(somebody, here.path);
  const auto lock = here.open().below("lock", create);
  REQUIRE(lock);
  REQUIRE(lock->open_file("ledger", create, plenty));
  REQUIRE(os::NamedPipe::create(*lock, "1"));
  for (const char* made : {"lock", "lock/ledger", "lock/1"}) {
    CHECK(owner_of(here / made) == somebody);
  }
}

TEST_CASE("a link or a file in the place of a directory below is refused") {
  const Directory here;
  REQUIRE(::mkdir((here / "precious").c_str(), 0700) == 0);
  fs::create_symlink("precious", here / "link");
  fs::create_symlink("nothing", here / "dangling");
  (void)here.write("file", "", 0600);
  REQUIRE(::chmod(here.path.c_str(), 02770) == 0);
  for (const auto missing : {create, give_up}) {
    check_refused(here.open().below("link", missing), here / "link", "symbolic link");
    check_refused(here.open().below("dangling", missing), here / "dangling", "symbolic link");
    check_refused(here.open().below("file", missing), here / "file", "no directory");
  }
  CHECK(mode_of(here / "precious") == 0700);
  CHECK_FALSE(fs::exists(here / "nothing"));
}

TEST_CASE("another user's directory is one in a group's place only" * doctest::skip(!is_root)) {
  const Directory here;
  REQUIRE(::mkdir((here / "lock").c_str(), 0700) == 0);
  give_to(somebody, here / "lock");
  check_refused(here.open().below("lock", create), here / "lock", "belongs to user 12345");
  REQUIRE(::chmod(here.path.c_str(), 01777) == 0);
  CHECK(here.open().below("lock", create).error().number == EPERM);
  REQUIRE(::chmod(here.path.c_str(), 02770) == 0);
  CHECK(here.open().below("lock", create));
  REQUIRE(::chmod(here.path.c_str(), 0755) == 0);
  give_to(somebody, here.path);
  CHECK(here.open().below("lock", create));
}

TEST_CASE("of files only regular ones with one name are used, and pipes that are pipes") {
  const Directory here;
  const auto elsewhere = here.write("elsewhere", "precious", 0600);
  fs::create_symlink(elsewhere, here / "link");
  fs::create_symlink("/dev/zero", here / "zero");
  fs::create_symlink("nothing", here / "dangling");
  fs::create_hard_link(elsewhere, here / "hard");
  REQUIRE(::mkfifo((here / "fifo").c_str(), 0600) == 0);
  REQUIRE(::mkdir((here / "directory").c_str(), 0700) == 0);
  const auto open = here.open();
  for (const char* name : {"link", "zero", "dangling", "hard", "fifo", "directory"}) {
    CAPTURE(name);
    for (const auto missing : {create, give_up}) {
      check_refused(open.open_file(name, missing, plenty), here / name, "rm ");
    }
    check_refused(open.contents_of(name, plenty), here / name, "rm ");
    check_refused(open.write_contents(name, "x"), here / name, "rm ");
    open.touch(name);
    if (name == std::string{"fifo"}) continue;
    check_refused(open.open_pipe(name, O_RDONLY), here / name, "rm ");
    CHECK_FALSE(os::is_owned({open, name}));
    CHECK_FALSE(os::post({open, name}, "x"));
  }
  CHECK(*os::contents_of(elsewhere) == "precious");
  CHECK_FALSE(fs::exists(here / "nothing"));
}

TEST_CASE("a file that is too long is not read") {
  const Directory here;
  const auto file = here.write("file", "", 0600);
  REQUIRE(::truncate(file.c_str(), off_t{1} << 40) == 0);
  CHECK(here.open().open_file("file", give_up, plenty).error().number == EFBIG);
  CHECK(here.open().contents_of("file", plenty).error().number == EFBIG);
}

TEST_CASE("another user's file is used in a group's place only" * doctest::skip(!is_root)) {
  const Directory here;
  give_to(somebody, here.write("file", "x", 0600));
  check_refused(here.open().open_file("file", create, plenty), here / "file", "user 12345");
  check_refused(here.open().contents_of("file", plenty), here / "file", "user 12345");
  REQUIRE(::chmod(here.path.c_str(), 01777) == 0);
  check_refused(here.open().open_file("file", create, plenty), here / "file", "user 12345");
  REQUIRE(::chmod(here.path.c_str(), 02770) == 0);
  CHECK(*here.open().contents_of("file", plenty) == "x");
}

TEST_CASE("a private directory is ours, and no other user writes to it") {
  const Directory here;
  const auto open = [&](Missing missing) {
    return os::Directory::open_private(here / "d", missing);
  };
  CHECK(open(give_up).error().number == ENOENT);
  CHECK(open(create));
  CHECK(open(create));
  CHECK(mode_of(here / "d") == 0700);
  REQUIRE(::chmod((here / "d").c_str(), 0720) == 0);
  check_refused(open(create), here / "d", "chmod go-w");
  REQUIRE(::chmod((here / "d").c_str(), 0700) == 0);
  if (is_root) give_to(somebody, here / "d");
  if (is_root) check_refused(open(create), here / "d", "belongs to user 12345");
  fs::create_symlink("/", here / "link");
  check_refused(os::Directory::open_private(here / "link", create), here / "link", "symbolic link");
  const auto file = here.write("file", "", 0600);
  check_refused(os::Directory::open_private(file, give_up), file, "no directory");
  CHECK(os::Directory::open_private(here / "none/d", create).error().number == ENOENT);
}

TEST_CASE("a directory knows whether it is still at its path, and goes only if it is empty") {
  const Directory here;
  const auto lock = here.open().below("lock", create);
  REQUIRE(lock);
  CHECK(lock->is_in_place().value_or(false));
  fs::rename(here / "lock", here / "moved");
  CHECK(lock->is_in_place().value_or(true) == false);
  REQUIRE(here.open().below("lock", create));
  CHECK(lock->is_in_place().value_or(true) == false);
  (void)here.write("lock/file", "", 0600);
  CHECK_FALSE(here.open().below("lock", give_up)->remove_itself());
  lock->remove("file");  // of the one that was moved
  CHECK(fs::exists(here / "lock/file"));
  here.open().below("lock", give_up)->remove("file");
  CHECK(here.open().below("lock", give_up)->remove_itself());
  CHECK_FALSE(fs::exists(here / "lock"));
}

TEST_CASE("a directory whose path the kernel does not follow is not called gone") {
  const Directory here;
  const auto lock = here.open().below("lock", create)->below("in", create);
  REQUIRE(lock);
  const auto pipe = os::NamedPipe::create(*lock, "pipe");
  REQUIRE(pipe);
  fs::rename(here / "lock", here / "moved");
  fs::create_symlink("lock", here / "lock");
  REQUIRE_FALSE(lock->is_in_place());
  CHECK(lock->is_in_place().error().number == ELOOP);
  CHECK_FALSE(pipe->in_place());
}

TEST_CASE("a file is at its name until the name is another's") {
  const Directory here;
  const auto open = here.open();
  const auto file = open.open_file("a", create, plenty);
  REQUIRE(file);
  CHECK(open.has("a", *file).value_or(false));
  open.remove("a");
  CHECK_FALSE(open.has("a"));
  CHECK(open.has("a", *file).value_or(true) == false);
  (void)here.write("a", "", 0600);
  CHECK(open.has("a"));
  CHECK(open.has("a", *file).value_or(true) == false);
}

TEST_CASE("a file is locked by one at a time") {
  const Directory here;
  const auto open = [locks = here.open()](Missing missing) {
    return os::LockedFile::open(locks, "ledger", missing, at_once);
  };
  CHECK(open(give_up).error().number == ENOENT);
  {
    auto first = open(create);
    REQUIRE(first);
    CHECK(first->text(100).value_or("?").empty());
    CHECK(first->overwrite("twelve bytes"));
    CHECK(*first->text(100) == "twelve bytes");
    CHECK(*first->text(6) == "twelve");
    CHECK(open(create).error().number == EAGAIN);
    int ends[2];
    REQUIRE(::pipe(&ends[0]) == 0);
    const os::Fd reader{ends[0]};
    os::Fd writer{ends[1]};
    writer = os::Fd{};  // readable: an interrupt
    const os::CallLimit interrupted{Deadline::never(), reader.number()};
    CHECK(os::LockedFile::open(here.open(), "ledger", give_up, interrupted).error().number ==
          EINTR);
  }
  CHECK(open(give_up));
  CHECK(os::LockedFile::open({}, "file", create, at_once).error().number == ENOENT);
}

TEST_CASE("a full disk is said, not thrown") {
  const os::Fd full{::open("/dev/full", O_RDWR | O_CLOEXEC)};
  REQUIRE(full);
  CHECK(os::overwrite(full, 0, "x").error().number == ENOSPC);
}

TEST_CASE("a pipe brings the lines that were left in it") {
  const Directory here;
  const auto open = here.open();
  auto pipe = os::NamedPipe::create(open, "pipe");
  REQUIRE(pipe);
  CHECK(mode_of(here / "pipe") == 0600);
  CHECK(pipe->in_place().value_or(false));
  CHECK(pipe->take().empty());
  os::post({open, "pipe"}, "one");
  os::post({open, "pipe"}, "two words");
  CHECK(pipe->take() == std::vector<std::string>{"one", "two words"});
  os::post({open, "pipe"}, std::string(3000, 'x'));
  CHECK(pipe->take() == std::vector<std::string>{std::string(os::longest_post, 'x')});
}

TEST_CASE("half a line is kept until the rest comes, but not for ever") {
  const Directory here;
  const auto path = here / "pipe";
  auto pipe = os::NamedPipe::create(here.open(), "pipe");
  REQUIRE(pipe);
  REQUIRE(os::append_to(path, "ha"));
  CHECK(pipe->take().empty());
  REQUIRE(os::append_to(path, "lf\n\n"));
  CHECK(pipe->take() == std::vector<std::string>{"half"});
  REQUIRE(os::append_to(path, std::string(2001, 'x')));
  CHECK(pipe->take().empty());
  REQUIRE(os::append_to(path, "\nnext\n"));
  CHECK(pipe->take() == std::vector<std::string>{"next"});
}

TEST_CASE("a pipe is owned until its last handle is gone") {
  const Directory here;
  const auto open = here.open();
  const os::PipeName name{open, "pipe"};
  CHECK_FALSE(os::is_owned(name));
  CHECK_FALSE(os::watch_owner(name));
  auto pipe = os::NamedPipe::create(open, "pipe");
  REQUIRE(pipe);
  CHECK(os::is_owned(name));
  const auto watched = os::watch_owner(name);
  REQUIRE(watched);
  {
    const auto other = pipe->duplicate();
    { const auto gone = *std::move(pipe); }
    CHECK(os::is_owned(name));
    CHECK_FALSE(os::wait_any({}, {watched.number()}, {Deadline::at(base::now())}));
    CHECK(other.in_place().value_or(false));
    open.remove("pipe");
    CHECK(other.in_place().value_or(true) == false);
    CHECK_FALSE(os::is_owned(name));
  }
  CHECK(os::wait_any({}, {watched.number()}, {Deadline::never()}));
  os::post(name, "a letter to a pipe that is not there");
  CHECK_FALSE(fs::exists(here / "pipe"));
}

TEST_CASE("a pipe whose directory was moved away is not in place") {
  const Directory here;
  const auto pipe = os::NamedPipe::create(*here.open().below("lock", create), "pipe");
  REQUIRE(pipe);
  CHECK(pipe->in_place().value_or(false));
  fs::rename(here / "lock", here / "moved");
  CHECK(pipe->in_place().value_or(true) == false);
}

TEST_CASE("a pipe that a dead process left has no owner") {
  const Directory here;
  const auto open = here.open();
  const auto path = here / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK_FALSE(os::is_owned({open, "pipe"}));
  CHECK_FALSE(os::watch_owner({open, "pipe"}));
  os::post({open, "pipe"}, "swallowed");
  // Its unfinished name is in the way of a new one.
  REQUIRE(::mkfifo((path + ".new").c_str(), 0600) == 0);
  CHECK(os::NamedPipe::create(open, "pipe").error().number == EEXIST);
  CHECK(os::NamedPipe::create({}, "pipe").error().number == ENOENT);
}

}  // namespace unit::os_directory
