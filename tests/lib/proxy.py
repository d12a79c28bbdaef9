"""A fault proxy between a client and a Redis server.

usage: proxy.py LISTEN SERVER CONTROL LOG
  LISTEN, SERVER  unix:/path or tcp:port (127.0.0.1); LISTEN also tcp:host,host:port, more than one door
  CONTROL         a fifo; each line written to it switches the mode
  LOG             one line per event, for tests to wait for

Modes (one line each; `mode ...` in the log says that it is on):
  pass                  forward everything, also what was held back
  delay MS              every answer comes MS later
  stall                 forward nothing and lose nothing until the next `pass`
  drop-reply [TEXT]     the next answer (to a request that contains TEXT) is lost and its connection closed
  drop-nth N            the Nth answer from now on is lost and its connection closed
  swallow-reply [TEXT]  the next answer is lost, the connection stays open and silent
  drop-request [TEXT]   the next request is lost before the server sees it, its connection closed
  cut TEXT              each request that contains TEXT is lost, its connection closed, until the next mode
  say TEXT=ANSWER       each request that contains TEXT (none: each) gets that answer at once, until the next mode
  forget                what is connected now stays open and silent for good; new connections pass
  reset                 every connection is reset now; new ones pass
  refuse                the same, and nobody listens until the next `pass`
A request is what the client has written since the last answer: rlock sends what belongs together at once. TEXT may
have \\r and \\n: '\\r\\nrelease\\r\\n' is that argument of a command, and no word of a script's text.
"""

import asyncio
import contextlib
import os
import socket
import struct
import sys

CHUNK = 1 << 16


class Proxy:
    def __init__(self, listen, server, log):
        self.listen_at = listen
        self.server_at = server
        self.log_file = open(log, "a", buffering=1, encoding="utf-8")
        self.replies_left = 0  # until one is lost, for drop-nth
        self.gate = asyncio.Event()
        self.gate.set()
        self.delay = 0.0
        self.fault = None  # (kind, text): what happens once, to the next match
        self.rule = None  # (text, answer): what happens to each match; no answer: the connection is closed
        self.pairs = {}
        self.count = 0
        self.listener = None

    def log(self, text):
        self.log_file.write(text + "\n")

    async def open_door(self):
        if self.listener:
            return
        kind, where = self.listen_at.split(":", 1)
        if kind == "unix":
            with contextlib.suppress(FileNotFoundError):
                os.unlink(where)
            self.listener = await asyncio.start_unix_server(self.serve, where)
        else:
            hosts, _, port = where.rpartition(":")
            self.listener = await asyncio.start_server(self.serve, (hosts or "127.0.0.1").split(","), int(port))

    def close_door(self):
        if self.listener:
            self.listener.close()  # the socket file stays: connecting is refused, not "no such file"
            self.listener = None

    async def connect(self):
        kind, where = self.server_at.split(":", 1)
        if kind == "unix":
            return await asyncio.open_unix_connection(where)
        return await asyncio.open_connection("127.0.0.1", int(where))

    async def serve(self, client_reader, client_writer):
        self.count += 1
        number = self.count
        self.log(f"connect {number}")
        try:
            server_reader, server_writer = await self.connect()
        except OSError as error:
            self.log(f"server {number} {error}")
            client_writer.transport.abort()
            return
        pair = {"client": client_writer, "server": server_writer, "asked": b"", "silent": False, "forgotten": False}
        self.pairs[number] = pair
        tasks = [
            asyncio.ensure_future(self.requests(number, pair, client_reader)),
            asyncio.ensure_future(self.replies(number, pair, server_reader)),
        ]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        self.end(number)

    async def requests(self, number, pair, reader):
        while data := await read(reader):
            self.log(f"request {number} {show(data)}")
            pair["asked"] = (pair["asked"] + data)[-CHUNK:]
            await self.gate.wait()
            if pair["forgotten"]:
                continue
            if self.strikes("drop-request", data):
                self.log(f"dropped request {number}")
                return
            if self.rule and self.rule[0] in data:
                self.log(f"ruled {number}")
                if not self.rule[1] or not await write(pair["client"], self.rule[1]):
                    return
                continue
            if not await write(pair["server"], data):
                return

    async def replies(self, number, pair, reader):
        while data := await read(reader):
            self.log(f"reply {number} {show(data)}")
            self.replies_left -= 1
            if self.replies_left == 0 or self.strikes("drop-reply", pair["asked"]):
                self.log(f"dropped reply {number}")
                return
            if self.strikes("swallow-reply", pair["asked"]):
                self.log(f"swallowed reply {number}")
                pair["silent"] = True
            pair["asked"] = b""
            if pair["silent"] or pair["forgotten"]:
                continue
            if self.delay:
                await asyncio.sleep(self.delay)
            await self.gate.wait()
            if not await write(pair["client"], data):
                return
            self.log(f"answered {number}")

    def strikes(self, kind, asked):
        if self.fault and self.fault[0] == kind and self.fault[1].encode() in asked:
            self.fault = None
            return True
        return False

    def end(self, number):
        pair = self.pairs.pop(number, None)
        if pair:
            for side in ("client", "server"):
                with contextlib.suppress(OSError):
                    sock = pair[side].get_extra_info("socket")
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                pair[side].transport.abort()
            self.log(f"closed {number}")

    async def switch(self, line):
        mode, _, rest = line.partition(" ")
        self.delay = 0.0
        self.fault = None
        self.rule = None
        self.replies_left = int(rest) if mode == "drop-nth" else 0
        if mode == "stall":
            self.gate.clear()
        else:
            self.gate.set()
        if mode == "delay":
            self.delay = float(rest) / 1000
        elif mode in ("drop-reply", "swallow-reply", "drop-request"):
            self.fault = (mode, rest.encode().decode("unicode_escape"))
        elif mode in ("cut", "say"):
            text, _, answer = rest.encode().decode("unicode_escape").encode("latin-1").partition(b"=")
            self.rule = (text, answer)
        elif mode == "forget":
            for pair in self.pairs.values():
                pair["forgotten"] = True
        elif mode == "refuse":
            self.close_door()
        elif mode not in ("pass", "stall", "reset", "drop-nth"):
            self.log(f"unknown {line}")
            return
        if mode in ("reset", "refuse"):
            for number in list(self.pairs):
                self.end(number)
        else:
            await self.open_door()
        self.log(f"mode {line}")


async def read(reader):
    try:
        return await reader.read(CHUNK)
    except OSError:
        return b""


async def write(writer, data):
    try:
        writer.write(data)
        await writer.drain()
        return True
    except OSError:
        return False


def show(data):
    return data[:400].decode("latin-1").replace("\r\n", " ").replace("\n", " ")


async def main(listen, server, control, log):
    proxy = Proxy(listen, server, log)
    await proxy.open_door()
    proxy.log("listening")
    fifo = os.open(control, os.O_RDWR)  # a writer of our own, so that it never ends
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fifo, "rb", buffering=0)
    )
    while line := await reader.readline():
        await proxy.switch(line.decode().strip())


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))
