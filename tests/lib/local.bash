# shellcheck shell=bash
# For tests of file: locks, without a server; loaded after lib/rlock.

# shellcheck source=tests/lib/line.bash
source "$LIB/line.bash"

setup_file() { :; }
teardown_file() { :; }
use_server() { export RLOCK_SERVER=file://$BATS_TEST_TMPDIR/locks; }
