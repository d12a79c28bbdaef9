"""Server processes of a chaos run: private, on loopback and Unix sockets, gone with us."""

import base64
import contextlib
import glob
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

# Starts all of them: the kernel ends a server with the thread that started it, and this one is there until we end.
STARTER = ThreadPoolExecutor(1)


def free_port(offset=0):
    """Below those that the kernel gives to clients; the one `offset` above it is free as well."""
    while True:
        port = random.SystemRandom().randrange(10000, 32767 - offset)
        try:
            for each in {port, port + offset}:
                with socket.socket() as sock:
                    sock.bind(("127.0.0.1", each))
            return port
        except OSError:
            continue


def until(condition, what, patience=30):
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"chaos: gave up waiting: {what}")
        time.sleep(0.02)


class Server:
    """A process that can be killed, started again, and paused."""

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)
        self.process = None

    def launch(self, *command):
        with open(f"{self.directory}/output", "ab") as output:
            self.process = STARTER.submit(subprocess.Popen, ["setpriv", "--pdeathsig", "KILL", *command],
                                          stdin=subprocess.DEVNULL, stdout=output, stderr=output).result()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Redis(Server):
    """Keeps what it was told on the disk: killed and started again, it knows all that it had answered."""

    def __init__(self, directory, *options, port=0):
        super().__init__(directory)
        self.options = ("--bind", "127.0.0.1", "--port", str(port), *options)
        self.port = port  # 0: only the Unix socket
        self.path = f"{directory}/redis.sock"
        self.url = f"unix://{self.path}"
        self.start()

    def start(self):
        self.launch(self.program(), "--unixsocket", self.path, "--dir", self.directory, "--save", "",
                    "--appendonly", "yes", "--appendfsync", "no", *self.options)
        until(lambda: self.ask("ping") == "PONG", "for a server to come up")

    def program(self):
        """redis-tools alone also has the server, as the program that checks its files (see tests/lib/server.bash)."""
        program = shutil.which("redis-server")
        if not program:
            program = f"{self.directory}/redis-server"
            if not os.path.lexists(program):
                os.symlink(shutil.which("redis-check-rdb"), program)
        return program

    def ask(self, *words):
        done = subprocess.run(["redis-cli", "-s", self.path, *words], capture_output=True, text=True, timeout=60)
        return done.stdout.strip()


class Sentinel(Redis):
    def __init__(self, directory, master_port):
        port = free_port()
        os.makedirs(directory)
        with open(f"{directory}/conf", "w", encoding="utf-8") as file:
            file.write(f"port {port}\nbind 127.0.0.1\ndir {directory}\nunixsocket {directory}/redis.sock\n"
                       f"sentinel monitor main 127.0.0.1 {master_port} 2\n"
                       "sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n")
        super().__init__(directory, port=port)

    def start(self):
        self.launch(self.program(), f"{self.directory}/conf", "--sentinel")
        until(lambda: self.ask("ping") == "PONG", "for a sentinel to come up")


class Proxy(Server):
    """tests/lib/proxy.py between rlock and a server."""

    def __init__(self, directory, server_path, name="proxy.sock"):
        super().__init__(directory)
        self.path, self.control = f"{directory}/{name}", f"{directory}/control"
        self.url = f"unix://{self.path}"
        os.mkfifo(self.control)
        program = os.path.join(os.path.dirname(__file__), "..", "lib", "proxy.py")
        self.log = f"{directory}/log"
        self.launch(sys.executable, "-B", program, f"unix:{self.path}", f"unix:{server_path}", self.control, self.log)
        until(lambda: os.path.exists(self.path), "for the proxy to come up")

    def switch(self, mode):
        """Returns when it is on."""
        with open(self.log, encoding="utf-8") as log:
            log.seek(0, os.SEEK_END)
            with open(self.control, "w", encoding="utf-8") as file:
                file.write(mode + "\n")
            said = []
            until(lambda: said.append(log.read()) or f"mode {mode}\n" in "".join(said), "for the proxy")


class Postgres(Server):
    """Keeps on the disk what it has answered, but for what need not last."""

    def __init__(self, directory):
        super().__init__(directory)
        self.port = free_port()
        self.socket = f"{directory}/.s.PGSQL.{self.port}"
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))[-1]
        self.program = f"{programs}/postgres"
        self.user = self.another_user()
        if self.user[0] == "setpriv":
            shutil.chown(directory, "postgres", "postgres")
        subprocess.run([*self.user, f"{programs}/initdb", "-D", f"{directory}/data", "-A", "trust", "-U", "postgres",
                        "--no-sync"], check=True, capture_output=True, cwd=directory)
        self.start()

    @staticmethod
    def another_user():
        """It does not run as root."""
        if os.geteuid() != 0:
            return ["env"]
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        possible = subprocess.run([*command, "true"], capture_output=True).returncode == 0
        return command if possible else ["unshare", "--user", "--map-user=1000"]

    def start(self):
        with contextlib.suppress(FileNotFoundError):
            os.remove(f"{self.directory}/data/postmaster.pid")
        self.launch(*self.user, "setpriv", "--pdeathsig", "KILL", self.program, "-D", f"{self.directory}/data",
                    "-k", self.directory, "-c", "listen_addresses=127.0.0.1", "-c", f"port={self.port}",
                    "-c", "max_connections=200", "-c", "shared_buffers=16MB")
        until(lambda: self.ask("select 1") == "1", "for PostgreSQL to come up")

    def ask(self, statement):
        done = subprocess.run(["psql", "-qAtX", "-h", self.directory, "-p", str(self.port), "-U", "postgres", "-c", statement,
                               "postgres"], capture_output=True, text=True, timeout=60)
        return done.stdout.strip()

    def family(self):
        """It and its processes, each of which serves one client."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            return [self.process.pid, *map(int, file.read().split())]

    def signal_all(self, number):
        for pid in self.family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def pause(self):
        self.signal_all(signal.SIGSTOP)

    def resume(self):
        self.signal_all(signal.SIGCONT)

    def kill(self):
        """As at a crash of the machine, but for what the kernel keeps of its files."""
        family = self.family()
        self.signal_all(signal.SIGSTOP)
        self.signal_all(signal.SIGKILL)
        self.process.wait()
        until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in family[1:]), "for PostgreSQL's processes to end")


class ZooKeeper(Server):
    """Its data survives it on disk, in time: the machine stays up."""

    def __init__(self, directory, number, members):
        super().__init__(directory)
        self.number, self.port = number, free_port()
        with open(f"{directory}/conf", "w", encoding="utf-8") as file:
            file.write(f"dataDir={directory}\nclientPort={self.port}\nclientPortAddress=127.0.0.1\ntickTime=200\n"
                       "minSessionTimeout=400\nmaxSessionTimeout=60000\nadmin.enableServer=false\nmaxClientCnxns=0\n"
                       "4lw.commands.whitelist=srvr,mntr\nextendedTypesEnabled=true\ninitLimit=50\nsyncLimit=10\n" + members)
        with open(f"{directory}/myid", "w", encoding="utf-8") as file:
            file.write(str(number))
        self.start()

    def start(self):
        self.launch("java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                    "-Dznode.container.checkIntervalMs=500", "-Dzookeeper.forceSync=no",
                    "-cp", "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar",
                    "org.apache.zookeeper.server.quorum.QuorumPeerMain", f"{self.directory}/conf")

    def ask(self, word):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as sock:
                sock.sendall(word.encode())
                return sock.makefile().read().splitlines()
        except OSError:
            return []

    def mode(self):
        return next((line[6:] for line in self.ask("srvr") if line.startswith("Mode: ")), "")

    def counts(self):
        """Of nodes, and of those that belong to sessions."""
        names = ("zk_znode_count", "zk_ephemerals_count")
        return {name: int(count) for name, _, count in (line.partition("\t") for line in self.ask("mntr"))
                if name in names}


class Etcd(Server):
    """One of a cluster. Its data survives it on disk, in time: the machine stays up."""

    def __init__(self, directory, name, ports, members):
        super().__init__(directory)
        self.name, (self.port, self.peer), self.members = name, ports, members
        self.start()

    def start(self):
        ours, peer = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.peer}"
        self.launch("etcd", "--name", self.name, "--data-dir", f"{self.directory}/data", "--unsafe-no-fsync",
                    "--listen-client-urls", ours, "--advertise-client-urls", ours,
                    "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                    "--initial-cluster", self.members)

    @staticmethod
    def revokes_leases(version):
        """Whether a leader of that version ("etcd Version: 3.4.23") revokes leases that are kept alive when it goes on after
        a pause: fixed in 3.4.31 and 3.5.13."""
        major, minor, patch = map(int, re.search(r"(\d+)\.(\d+)\.(\d+)", version).groups())
        return (major, minor) in ((3, 4), (3, 5)) and (minor, patch) < ((4, 31) if minor == 4 else (5, 13))

    def ask(self, path, question):
        """The answer to a question of the JSON gateway; nothing if there is none."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", json.dumps(question).encode(),
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=2) as answer:
                return json.load(answer)
        except (OSError, http.client.HTTPException, ValueError):
            return {}

    def status(self):
        """Its number, and the one that it takes for the leader's."""
        told = self.ask("/v3/maintenance/status", {})
        return told.get("header", {}).get("member_id"), told.get("leader", "0")

    def keys_below(self, prefix):
        def encoded(text):
            return base64.b64encode(text.encode()).decode()

        told = self.ask("/v3/kv/range", {"key": encoded(prefix), "range_end": encoded(prefix[:-1] + chr(ord(prefix[-1]) + 1)),
                                         "keys_only": True})
        return [base64.b64decode(each["key"]).decode() for each in told.get("kvs", [])]
