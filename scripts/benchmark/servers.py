"""The servers of the contestants: started when first asked for, gone with us; what they were asked."""

import atexit
import os
import re
import socket
import subprocess
import urllib.request

from measure import cpu_ns, tree
from wire import Wire
from world import DIR, HERE


class Server:
    """Of one kind; see the program `server`. told: the words that a client is told."""

    def __init__(self, kind):
        self.kind = kind
        self.process = subprocess.Popen([f"{HERE}/server", kind, DIR], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.told, self.sockets, pids = (self.process.stdout.readline().split() for _ in range(3))
        if not pids:
            raise RuntimeError(f"no {kind} server: see above")
        self.pids = [int(pid) for pid in pids]
        atexit.register(self.stop)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()

    def cpu_ns(self):
        """So far, of all its processes; of one that has ended, in ticks."""
        return sum(cpu_ns(each) for pid in self.pids for each in tree(pid))


_started = {}


def server(kind):
    if kind not in _started:
        _started[kind] = Server(kind)
    return _started[kind]


def is_master(path):
    return subprocess.run(["redis-cli", "-s", path, "role"], capture_output=True, text=True,
                          check=True).stdout.startswith("master")


class RedisMeter:
    """Client commands that name the key, on every node but replicas, which are told of all again."""

    def __init__(self, kind, key):
        self.key = key
        self.wires = [Wire(each) for each in server(kind).sockets if is_master(each)]

    def __enter__(self):
        for wire in self.wires:
            wire.__enter__()
        return self

    def __exit__(self, *_):
        for wire in self.wires:
            wire.__exit__()
        self.count = sum(self.key in line for wire in self.wires for line in wire.commands())
        for wire in self.wires:
            os.unlink(wire.log)


class CountMeter:
    """The growth of a server's counter."""

    def __init__(self, read):
        self.read = read

    def __enter__(self):
        self.before = self.read()
        return self

    def __exit__(self, *_):
        self.count = self.read() - self.before


def zookeeper_packets():
    host, port = server("zookeeper").told[0].removeprefix("zk://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"srvr")
        text = connection.makefile().read()
    return int(re.search(r"Received: (\d+)", text).group(1))


def etcd_messages():
    with urllib.request.urlopen(server("etcd").told[0] + "/metrics") as answer:
        text = answer.read().decode()
    return sum(int(float(value)) for value in
               re.findall(r"^grpc_server_msg_received_total\{.*\} (\S+)$", text, re.M))


def meter(kind, key):
    if kind is None:
        return CountMeter(lambda: 0)
    if kind == "zookeeper":
        return CountMeter(zookeeper_packets)
    if kind == "etcd":
        return CountMeter(etcd_messages)
    return RedisMeter(kind, key)
