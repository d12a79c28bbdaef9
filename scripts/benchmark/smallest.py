"""The smallest client: a program that takes rlock's steps and does nothing else, linked as rlock is."""

import os
import subprocess

from world import DIR, ENV, HERE, SOCKET, redis

PROGRAM = f"{DIR}/smallest_client"


def smallest(way, *command):
    if not os.path.exists(PROGRAM):
        subprocess.run(["gcc", "-O2", "-static", "-o", PROGRAM, f"{HERE}/smallest_client.c"], check=True)
        said = subprocess.run([PROGRAM, SOCKET, "load", "-"], capture_output=True, text=True, check=True).stdout
        ENV["ENTER_SHA1"], ENV["LEAVE_SHA1"] = said.split()
    return [PROGRAM, SOCKET, way, *command]


def smallest_waiting(waiters):
    return lambda: int(redis("llen", "floor:queue")) == waiters
