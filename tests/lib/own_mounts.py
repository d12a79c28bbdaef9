"""Runs a command with mounts of its own: nobody else sees what it mounts and unmounts.

usage: own_mounts.py COMMAND [ARG...]
unshare --mount makes all mounts private by way of the root directory, and fails in a bare chroot, whose root directory
is no mount point. So this leaves the chroot for that moment. It takes root.
"""

import ctypes
import os
import sys
import tempfile

CLONE_NEWNS = 0x20000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18

libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def identity():
    found = os.stat(".")
    return found.st_dev, found.st_ino


def leave_chroot():
    """The kernel stops ".." at the root directory only, so a working directory outside of it leads to the top."""
    inside = tempfile.mkdtemp(prefix="rlock-root.")
    os.chdir("/")
    os.chroot(inside)
    os.rmdir(inside.lstrip("/"))
    before = None
    while identity() != before:
        before = identity()
        os.chdir("..")
    os.chroot(".")


def main():
    checked(libc.unshare(CLONE_NEWNS))
    # Only now: a descriptor from before leads to the mounts of before.
    place = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    leave_chroot()
    checked(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None))
    os.fchdir(root)
    os.chroot(".")
    os.fchdir(place)
    os.execvp(sys.argv[1], sys.argv[1:])


main()
