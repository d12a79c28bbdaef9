"""Packets that get lost on their way to a server, or only those that come back: connections stay, nobody is told.

Needs nft, and a network of our own to use it in: scripts/chaos starts us in a namespace where that is allowed.
"""

import os
import subprocess

ALLOWED = os.environ.get("CHAOS_NETWORK") == "own"


def lose(port, *, answers_only=False):
    directions = ["sport"] if answers_only else ["sport", "dport"]
    rules = "".join(f"tcp {direction} {port} drop; " for direction in directions)
    nft(f"table ip chaos {{ chain lost {{ type filter hook input priority 0; {rules}}}; }}")


def find():
    """Also right when none get lost."""
    nft("add table ip chaos; delete table ip chaos")


def nft(script):
    subprocess.run(["nft", "-f", "-"], input=script, text=True, check=True)
