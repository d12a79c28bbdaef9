"""A server that means no good.

usage: hostile.py DIRECTORY SERVER CONTROL LOG [PORT=NAME...]
  DIRECTORY  gets two Unix sockets for each of the answers below: who asks at NAME is given that answer,
             whatever the question; who asks at later-NAME is SERVER's client until it turns: from then on every
             question gets that answer, and so does every connection that is open
  SERVER     the Unix socket of a real server
  CONTROL    a fifo: `turn` turns all of them, `back` turns them back
  LOG        one line per event: `listening`, `mode turn`, `mode back`, `said NAME`
  PORT=NAME  the answer NAME is given there as well, on loopback. Besides those below, NAME can be `moved:PORT`
             and `asked:PORT`, a Cluster's word to ask there, and `named:PORT`, a Sentinel's
"""

import contextlib
import functools
import itertools
import os
import random
import socket
import struct
import sys
import threading
import time

MEGABYTE = 1 << 20


def forever(piece):
    while True:
        yield piece


def then(first, rest):
    yield first
    yield from rest


def slowly(text):
    """For what would be asked for as fast as it is answered, without need."""
    time.sleep(0.005)
    yield text


def dripping(text):
    for byte in text:
        yield bytes([byte])
        time.sleep(1)


HANG_UP = None  # as a piece of an answer: the connection is closed there


def zookeeper(answer):
    """Lets a client of ZooKeeper in; whatever it asks then gets `answer`, pieces made of the number that it gave it."""

    def pieces(asked):
        if asked[4:8] == bytes(4):  # version, time, session, password, read-only
            return [frame(struct.pack(">iiq", 0, 10_000, 77) + struct.pack(">i16sb", 16, bytes(16), 0))]
        return answer(asked[4:8])

    return pieces


def frame(text):
    return struct.pack(">i", len(text)) + text


def zookeeper_reply(body):
    """That all went well."""
    return lambda number: [frame(number + struct.pack(">qi", 1, 0) + body)]



def changed(first):
    """A thousand nodes that were watched, nobody knows why, have changed."""
    event = struct.pack(">iqiii", -1, 1, 0, 3, 3)
    return b"".join(frame(event + frame(b"/%d" % number)) for number in range(1000 * first, 1000 * first + 1000))


LARGEST = 2**63 - 1
SMALLEST = -(2**63)


def http(body, status=b"200 OK"):
    return [b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)]


def chunks(piece):
    """An answer of HTTP without an end."""
    size = b"%x\r\n%s\r\n" % (len(piece), piece)
    return then(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", forever(size))


def etcd_error(code, message):
    return http(b'{"error":"%s","message":"%s","code":%d}' % (message, message, code), b"503 Service Unavailable")


def etcd(figure):
    """Grants every lease and makes every change, with that number wherever there is one."""

    def pieces(asked):
        told = b'"header":{"revision":"%s","raft_term":"%s"}' % (figure, figure)
        if b"/v3/lease/grant" in asked:
            number = asked.partition(b'"ID":"')[2].partition(b'"')[0]
            return http(b'{%s,"ID":"%s","TTL":"%s"}' % (told, number, figure))
        if b"/v3/kv/txn" in asked:
            return http(b'{%s,"succeeded":true,"responses":[{"response_put":{}}]}' % told)
        return http(b'{"result":{%s,"ID":"%s","TTL":"%s"}}' % (told, figure, figure))

    return pieces


def wire(value):
    """A number, a text or a list, as a server of Redis writes it."""
    if isinstance(value, int):
        return b":%d\r\n" % value
    if isinstance(value, bytes):
        return b"$%d\r\n%s\r\n" % (len(value), value)
    return b"*%d\r\n" % len(value) + b"".join(wire(each) for each in value)


def holder(number, who, kind):
    return [b"kind", kind, b"token", who, b"left", number, b"held", number, b"more", number]


# The answers of rlock's scripts to a claim, an inspection and a scan.
def busy(number, who=b"somebody", kind=b"holder"):
    return wire([b"busy", b"holder", holder(number, who, kind), b"waiting", number])


def queued(number, who=b"somebody", kind=b"holder"):
    place = [b"ahead", number, b"ticket", b"%d" % number, b"look_in", number, b"typical_run", number]
    return wire([b"queued", b"holder", holder(number, who, kind), *place])


def report(number, who=b"somebody", kind=b"holder"):
    text = b"%d" % number
    line = b"%s\t%s\t%s\t%s\t\t\t%s\texited %s\t\x1b[31m" % (text, who, text, text, text, text)
    later = b"7\t%s\t1000\t5\t\t\t2000\texited 3\t\x1b[31m" % who
    lock = [b"fence", b"77", b"mode", b"exclusive", b"waiters", [b"w", number], b"now", b"5000"]
    return wire([b"lock", b"holder", holder(number, who, kind), *lock, b"runs", [line, 0, later, 1]])


# Of each a list (or a generator) of pieces, or a function that makes them of the question; after the last one it is
# silent.
ANSWERS = {
    # no Redis at all
    "http": lambda: [b"HTTP/1.1 400 Bad Request\r\nServer: web\r\n\r\n<html>"],
    "noise": lambda: [b"\xff" + random.Random(1).randbytes(100_000)],
    "zeros": lambda: [bytes(1000)],
    "noise-forever": lambda: forever(b"\xff\xfe\xfd\n" * (MEGABYTE // 4)),
    # more than anybody can hold
    "bulk-of-2-gigabytes": lambda: then(b"$2147483647\r\n", forever(b"x" * MEGABYTE)),
    "bulk-of-a-terabyte": lambda: then(b"$999999999999\r\n", forever(b"x" * MEGABYTE)),
    "bulk-beyond-64-bits": lambda: [b"$99999999999999999999\r\n"],
    "line-without-end": lambda: then(b"+", forever(b"x" * MEGABYTE)),
    "error-without-end": lambda: then(b"-ERR ", forever(b"x" * MEGABYTE)),
    "integer-without-end": lambda: then(b":", forever(b"1" * MEGABYTE)),
    "deep": lambda: [b"*1\r\n" * 1_000_000, b":1\r\n", HANG_UP],
    "deep-for-good": lambda: forever(b"*1\r\n" * 100_000),
    "wide": lambda: [b"*1000000000\r\n"],
    "wide-and-deep": lambda: forever(b"*1000000\r\n" * 100),
    "wide-and-full": lambda: then(b"*1000000000\r\n", forever(b":1\r\n" * 100_000)),
    "wide-beyond-64-bits": lambda: [b"*99999999999999999999\r\n"],
    "arrays-without-end": lambda: then(b"*4000000000\r\n", forever(b"*2\r\n:1\r\n$1\r\nx\r\n" * 50_000)),
    # half an answer
    "half-silent": lambda: [b"*2\r\n$7\r\ngran"],
    "half-closed": lambda: [b"*2\r\n$7\r\ngran", HANG_UP],
    "closed": lambda: [HANG_UP],
    "silent": lambda: [],
    "drip": lambda: dripping(b"*9\r\n$7\r\ngranted\r\n" + b"$5\r\nfence\r\n:1\r\n" * 30),
    # the wrong thing
    "nil": lambda: [b"$-1\r\n"],
    "nil-array": lambda: [b"*-1\r\n"],
    "empty": lambda: [b"*0\r\n"],
    "empty-text": lambda: [b"$0\r\n\r\n"],
    "empty-error": lambda: [b"-\r\n"],
    "ok": lambda: [b"+OK\r\n"],
    "zero-bytes": lambda: [b"$5\r\n\0\0\0\0\0\r\n"],
    "nested": lambda: [b"*1\r\n*1\r\n*1\r\n:1\r\n"],
    "negative-bulk": lambda: [b"$-2147483648\r\n"],
    "negative-array": lambda: [b"*-7\r\n"],
    "integer-beyond-64-bits": lambda: [b":9223372036854775808\r\n"],
    "granted-nothing": lambda: [b"*3\r\n$7\r\ngranted\r\n$5\r\nfence\r\n$4\r\nmany\r\n"],
    "granted-too-much": lambda: [b"*3\r\n$7\r\ngranted\r\n$5\r\nfence\r\n$20\r\n99999999999999999999\r\n"],
    "map": lambda: [b"%1\r\n+granted\r\n+1\r\n"],
    "set": lambda: [b"~2\r\n+granted\r\n+1\r\n"],
    "push": lambda: [b">2\r\n+granted\r\n+1\r\n"],
    "attribute": lambda: [b"|1\r\n+granted\r\n+1\r\n"],
    "double": lambda: [b",nan\r\n"],
    "bool": lambda: [b"#t\r\n"],
    "null": lambda: [b"_\r\n"],
    "large-number": lambda: [b"(3492890328409238509324850943850943825024385\r\n"],
    "verbatim": lambda: [b"=7\r\ntxt:abc\r\n"],
    "unknown-type": lambda: [b"?1\r\n"],
    "not-known": lambda: [b"-NOSCRIPT No matching script.\r\n"],
    "moved-to-nonsense": lambda: [b"-MOVED 1 \x1b]0;here:-1\r\n"],
    "moved-to-nowhere": lambda: [b"-MOVED\r\n"],
    "ask-to-nonsense": lambda: [b"-ASK 1 \x1b]0;here:99999999999\r\n"],
    # the right thing with figures that no arithmetic survives
    "busy-largest": lambda: [busy(LARGEST)],
    "busy-smallest": lambda: [busy(SMALLEST)],
    "busy-foreign": lambda: [busy(LARGEST, b"\x1b]0;pwned\x07", b"foreign")],
    "queued-largest": lambda: [queued(LARGEST)],
    "queued-foreign": lambda: [queued(LARGEST, kind=b"foreign")],
    "report-largest": lambda: [report(LARGEST)],
    "report-smallest": lambda: [report(SMALLEST)],
    "info-escape": lambda: [info(b"\x1b]0;evil\x07" * 100)],
    "scan-without-end": lambda: slowly(b"*2\r\n$1\r\n7\r\n*1\r\n$17\r\n{key}:rlock:queue\r\n"),
    "names-without-end": lambda: [names(random.randrange(10**9))],
    # of a ZooKeeper server
    "zk-length-largest": lambda: then(b"\x7f\xff\xff\xff", forever(b"x" * MEGABYTE)),
    "zk-length-negative": lambda: then(b"\xff\xff\xff\xff", forever(b"x" * MEGABYTE)),
    "zk-length-0": lambda: [bytes(4)],
    "zk-half": lambda: [b"\0\0\0\x25\0\0"],
    "zk-many": lambda: zookeeper(zookeeper_reply(b"\0\x10\0\0" + b"\0\0\0\1x" * 10)),
    "zk-endless": lambda: zookeeper(lambda number: then(b"\x7f\xff\xff\xff" + number, forever(b"x" * MEGABYTE))),
    "zk-claim": lambda: zookeeper(lambda number: [b"\x7f\xff\xff\xff" + number]),
    "etcd-no-gateway": lambda: http(b"404 page not found\n", b"404 Not Found"),
    "etcd-empty": lambda: http(b"{}"),
    "etcd-no-object": lambda: http(b"[1]"),
    "etcd-escape": lambda: etcd_error(3, rb"\u001b]0;evil\u0007" * 100),
    "etcd-no-leader": lambda: etcd_error(14, b"etcdserver: no leader"),
    "etcd-no-token": lambda: etcd_error(16, b"etcdserver: invalid auth token"),
    "etcd-head-without-end": lambda: then(b"HTTP/1.1 200 OK\r\n", forever(b"X: y\r\n" * 10_000)),
    "etcd-line-without-end": lambda: then(b"HTTP/1.1 200 OK\r\nX: ", forever(b"y" * MEGABYTE)),
    "etcd-body-without-end": lambda: then(b"HTTP/1.1 200 OK\r\n\r\n", forever(b"y" * MEGABYTE)),
    "etcd-chunks-without-end": lambda: chunks(b"0," * 50_000),
    "etcd-small-chunks": lambda: chunks(b"x"),
    "etcd-interim": lambda: forever(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "etcd-large": lambda: [b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999999\r\n\r\n"],
    "etcd-deep": lambda: http(b'{"a":' + b"[" * 8_000_000),
    "etcd-wide": lambda: http(b'{"kvs":[0' + b",0" * 8_000_000 + b"]}"),
    "etcd-objects": lambda: http(b'{"kvs":[{}' + b',{"a":{}}' * 1_700_000 + b"]}"),
    "etcd-half": lambda: [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"],
    "etcd-drip": lambda: dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"),
    "etcd-twice": lambda: http(b"{}") + http(b"{}") + http(b"{}"),
    "etcd-largest": lambda: etcd(b"9223372036854775807"),
    "etcd-smallest": lambda: etcd(b"-9223372036854775808"),
    "etcd-one": lambda: etcd(b"1"),
    "zk-events": lambda: zookeeper(lambda number: map(changed, itertools.count())),
    # of a Sentinel
    "named-escape": lambda: [b"*2\r\n$10\r\n\x1b]0;evil\x07\r\n$4\r\n\x1b[2J\r\n"],
    "named-novel": lambda: [b"*2\r\n$1000000\r\n", b"n" * 1_000_000, b"\r\n$4\r\n6379\r\n"],
}


def names(first):
    """A page of SCAN with a thousand locks that nobody has heard of."""
    keys = [b"{%d}:rlock:queue" % number for number in range(first, first + 1000)]
    return b"*2\r\n$1\r\n7\r\n*1000\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(key), key) for key in keys)


def info(text):
    lines = b"role:master\r\nredis_version:7%s\r\nconnected_slaves:%s\r\n" % (text, text)
    lines += b"maxmemory_policy:%s\r\naof_enabled:%s\r\n" % (text, text)
    return b"$%d\r\n%s\r\n" % (len(lines), lines)


def answer(name):
    kind, _, port = name.partition(":")
    if not port:
        return ANSWERS[name]()
    if kind == "named":
        return [b"*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%s\r\n" % (len(port), port.encode())]
    word = {"moved": "MOVED", "asked": "ASK"}[kind]
    return [f"-{word} 1 127.0.0.1:{port}\r\n".encode()]


class Hostile:
    def __init__(self, server, log):
        self.server_at = server
        self.log_file = open(log, "a", buffering=1, encoding="utf-8")
        self.turned = False
        self.clients = {}  # of the real server: which answer each is to get later

    def log(self, text):
        self.log_file.write(text + "\n")

    def listen(self, where, serve):
        door = socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(where)
        door.listen(100)
        start(self.accept, door, serve)

    def accept(self, door, serve):
        while True:
            start(serve, door.accept()[0])

    def say(self, client, name, asked=b""):
        self.log(f"said {name}")
        with contextlib.suppress(OSError):
            pieces = answer(name)
            for piece in pieces(asked) if callable(pieces) else pieces:
                if piece is HANG_UP:
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(piece)

    def be(self, name, client):
        with client, contextlib.suppress(OSError):
            while data := client.recv(65536):
                self.say(client, name, data)

    def be_later(self, name, client):
        self.clients[client] = name
        with client, socket.socket(socket.AF_UNIX) as server, contextlib.suppress(OSError):
            server.connect(self.server_at)
            start(self.answers, server, client)
            while data := client.recv(65536):
                if self.turned:
                    self.say(client, name, data)
                else:
                    server.sendall(data)
        del self.clients[client]

    def answers(self, server, client):
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if not self.turned:
                    client.sendall(data)

    def turn(self, line):
        self.turned = line == "turn"
        self.log(f"mode {line}")
        if self.turned:
            for client, name in list(self.clients.items()):
                start(self.say, client, name)


def start(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()


def main(directory, server, control, log, *ports):
    hostile = Hostile(server, log)
    for name in ANSWERS:
        hostile.listen(f"{directory}/{name}", functools.partial(hostile.be, name))
        hostile.listen(f"{directory}/later-{name}", functools.partial(hostile.be_later, name))
    for each in ports:
        port, _, name = each.partition("=")
        hostile.listen(("127.0.0.1", int(port)), functools.partial(hostile.be, name))
    hostile.log("listening")
    fifo = os.open(control, os.O_RDWR)  # a writer of our own, so that it never ends
    with os.fdopen(fifo, encoding="utf-8") as lines:
        for line in lines:
            hostile.turn(line.strip())


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
