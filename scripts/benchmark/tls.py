"""The cost of a run over TLS: next to flock(1), and to the smallest program that asks OpenSSL for the same; and where
the time of that one goes, by the kinds of keys and of trust."""

import os
import shutil
import statistics
import subprocess

from measure import in_turns, ratios_to_flock
from servers import server
from world import DIR, HERE, RLOCK, start, until

STEPS = ("load", "context", "trust", "connect", "handshake")
ROUNDS = 60
CLIENT = f"{DIR}/tls_client"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def certified(name, *kind):
    """A key with a certificate of its own, which is all that a client has to trust: (key, certificate)."""
    key, certificate = f"{DIR}/{name}.key", f"{DIR}/{name}.crt"
    openssl("req", "-x509", *kind, "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
            "-keyout", key, "-out", certificate)
    return key, certificate


def serving(name, port, *kind, only=()):
    """A server that only shakes hands; what to trust for it."""
    key, certificate = certified(name, *kind)
    process = start("openssl", "s_server", "-quiet", "-accept", f"127.0.0.1:{port}", "-key", key, "-cert", certificate, *only)
    until(lambda: subprocess.run([CLIENT, str(port), certificate], check=False, stderr=subprocess.DEVNULL).returncode == 0)
    return process, certificate


def medians(*words):
    seen = []
    for _ in range(ROUNDS):
        said = subprocess.run([CLIENT, "--steps", *words], check=True, capture_output=True, text=True).stdout
        seen.append([int(word) for word in said.split()])
    return [statistics.median(each) for each in zip(*seen)][:len(STEPS)]


def steps():
    """Of the smallest client, in µs, for each kind of key, protocol and trust."""
    port = int(os.environ["BENCH_PORT"]) + 1
    kinds = {"EC P-256, TLS 1.3": (("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"), ()),
             "EC P-256, TLS 1.2": (("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"), ("-tls1_2",)),
             "RSA 2048, TLS 1.3": (("-newkey", "rsa:2048"), ()),
             "RSA 4096, TLS 1.3": (("-newkey", "rsa:4096"), ())}
    print(f"{'µs of the smallest client':<36}" + "".join(f"{each:>11}" for each in STEPS))
    for number, (name, (kind, only)) in enumerate(kinds.items()):
        process, certificate = serving(f"server{number}", port + number, *kind, only=only)
        trusts = {"": certificate}
        if number == 0 and os.path.exists(BUNDLE):
            together = f"{DIR}/bundle.crt"
            with open(together, "wb") as file:
                for each in BUNDLE, certificate:
                    with open(each, "rb") as part:
                        shutil.copyfileobj(part, file)
            trusts[", a bundle of all authorities"] = together
        for trust, path in trusts.items():
            print(f"{name + trust:<36.36}" + "".join(f"{each:>11.0f}" for each in medians(str(port + number), path)), flush=True)
        process.terminate()
        process.wait()


def tls_bars():
    subprocess.run(["gcc", "-O2", "-o", CLIENT, f"{HERE}/tls_client.c", "-ldl"], check=True)
    told = server("tls").told[0]
    port, trust = told.removeprefix("rediss://127.0.0.1:").split("?cacert=")
    with_tls = [RLOCK, "-S", told, "-k", "k", "--", "true"]
    subprocess.run(with_tls, check=True)
    rounds = in_turns(["flock", "-n", f"{DIR}/file", "true"], with_tls, [CLIENT, port, trust, "true"], rounds=200)
    ratios_to_flock("tls: wall time of a run of ", rounds, {"rlock": 3.5, "the smallest client of OpenSSL": None})
    steps()
