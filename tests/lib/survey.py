"""Asks hostile servers every question that rlock knows, many at a time.

usage: survey.py DIRECTORY OUT URL...
DIRECTORY gets what rlock said, in NAME.COMMAND.out and .err, NAME being the end of the URL. OUT gets a line
for each question: NAME COMMAND EXIT-CODE MILLISECONDS KIB, the last being the most memory it ever had
(ru_maxrss). A command that does not end within 40 s is killed, and its code is "never".
"""

import concurrent.futures
import os
import subprocess
import sys
import time

PATIENCE = 40
COMMANDS = {
    "run": ["-k", "key", "--", "true"],
    "wait": ["-k", "key", "--wait", "3s", "--", "true"],
    "inspect": ["inspect", "key"],
    "inspect-json": ["inspect", "--json", "key"],
    "log": ["log", "key"],
    "log-json": ["log", "--json", "key"],
    "overdue": ["overdue", "key", "--within", "1d"],
    "list": ["list"],
    "list-json": ["list", "--json"],
    "force-release": ["force-release", "--yes", "key"],
    "cancel": ["cancel", "key"],
    "doctor": ["doctor"],
    "acquire": ["acquire", "-k", "key", "--ttl", "5s"],
    "refresh": ["refresh", "-k", "key", "--ttl", "5s", "--token", "token"],
    "check": ["check", "-k", "key", "--token", "token"],
    "release": ["release", "-k", "key", "--token", "token"],
}


def ask(directory, url, command):
    name = f"{url.removesuffix('/main').rsplit('/', 1)[1]}.{command}"
    before = time.monotonic()
    with open(f"{directory}/{name}.out", "wb") as out, open(f"{directory}/{name}.err", "wb") as err:
        child = subprocess.Popen(
            [os.environ["RLOCK_BIN"], *COMMANDS[command]],
            env={**os.environ, "RLOCK_SERVER": url},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        while not (ended := os.wait4(child.pid, os.WNOHANG))[0]:
            if time.monotonic() - before > PATIENCE:
                child.kill()
            time.sleep(0.01)
    _, status, used = ended
    code = os.waitstatus_to_exitcode(status)
    child.returncode = code  # it has been waited for
    spent = time.monotonic() - before
    shown = "never" if spent > PATIENCE else code
    return f"{' '.join(name.rsplit('.', 1))} {shown} {spent * 1000:.0f} {used.ru_maxrss}"


def main(directory, out, urls):
    with concurrent.futures.ThreadPoolExecutor(40) as pool, open(out, "w", encoding="utf-8") as file:
        for line in pool.map(
            lambda pair: ask(directory, *pair), [(url, command) for url in urls for command in COMMANDS]
        ):
            print(line, file=file)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
