"""A PostgreSQL server that means no good: it lets everybody in, and then answers each question with one of many faults.
With a KIND of `early-...` it never ends to let anybody in.

usage: hostile_postgres.py PORT KIND
"""

import contextlib
import socket
import struct
import sys
import threading


def message(kind, body=b""):
    return kind + struct.pack(">i", len(body) + 4) + body


def parameter(name, value):
    return message(b"S", name + b"\0" + value + b"\0")


READY = message(b"Z", b"I")
PARSED = message(b"1") + message(b"2")
ACCEPTED = message(b"R", struct.pack(">i", 0))
WELCOME = (ACCEPTED + parameter(b"server_version", b"15.0") + parameter(b"in_hot_standby", b"off") +
           parameter(b"default_transaction_read_only", b"off") + message(b"K", struct.pack(">ii", 1, 2)) + READY)


def columns(number):
    body = struct.pack(">h", number)
    for _ in range(number):
        body += b"c\0" + struct.pack(">ihihih", 0, 0, 20, 8, -1, 1)
    return message(b"T", body)


def row(*values):
    body = struct.pack(">h", len(values))
    for value in values:
        body += struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value
    return message(b"D", body)


def error(text):
    return message(b"E", b"SFATAL\0VFATAL\0CXX000\0M" + text + b"\0\0")


END = message(b"C", b"SELECT 1\0") + READY
NUMBER = struct.pack(">q", 1)


def answers(kind):
    """Sends this, repeatedly if it never ends."""
    if kind == "nothing":
        return
    if kind == "endless":
        yield PARSED + columns(5)
        while True:
            yield row(NUMBER, b"x" * 8000, NUMBER, b"\0", None)
    elif kind == "huge":
        yield PARSED + columns(5) + b"D" + struct.pack(">i", 0x7FFFFF00)
        while True:
            yield b"x" * 65536
    elif kind == "copy":
        yield PARSED + message(b"G", struct.pack(">bh", 0, 0))
    elif kind == "garbage":
        yield b"HTTP/1.1 200 OK\r\n\r\n" * 3
    elif kind == "null":
        yield PARSED + columns(5) + row(None, None, None, None, None) + END
    elif kind == "wrong-columns":
        yield PARSED + columns(1) + row(b"") + END
    elif kind == "no-rows":
        yield PARSED + columns(5) + END
    elif kind == "notices":
        while True:
            yield message(b"N", b"SNOTICE\0C00000\0Mhello\0\0")
    elif kind == "error-with-escapes":
        yield error(b"\x1b]0;owned\x07\x1b[2J\r\n" + b"long" * 1000) + READY


def welcomes(kind):
    """An endless message instead of a welcome."""
    if kind == "early-notices":
        yield ACCEPTED
        while True:
            yield message(b"N", b"SNOTICE\0C00000\0Mhello\0\0") * 100
    elif kind == "early-parameters":
        yield ACCEPTED
        number = 0
        while True:
            number += 1
            yield parameter(b"p%d" % number, b"v" * 1000)
    elif kind == "early-notifications":
        yield ACCEPTED
        while True:
            yield message(b"A", struct.pack(">i", 1) + b"channel\0" + b"x" * 1000 + b"\0") * 100
    elif kind == "early-rows":  # libpq asks a server before 14 whether it may be written to
        yield ACCEPTED + parameter(b"server_version", b"13.0") + message(b"K", struct.pack(">ii", 1, 2)) + READY + columns(1)
        while True:
            yield row(b"x" * 1000) * 100
    elif kind == "early-error":  # as a server before 7.4 words it
        while True:
            yield b"E" + b"x" * 65536


def serve(connection, kind):
    with contextlib.suppress(OSError), connection:
        connection.recv(65536)
        for part in welcomes(kind):
            connection.sendall(part)
        connection.sendall(WELCOME)
        while connection.recv(65536):
            if kind == "closes":
                return
            for part in answers(kind):
                connection.sendall(part)


with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listener:
    print("listening", flush=True)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0], sys.argv[2]), daemon=True).start()
