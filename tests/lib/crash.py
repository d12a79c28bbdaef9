"""usage: crash.py PID: when that process next wakes, it executes an instruction that there is not, as by a fault of its own."""
import sys
import time

pid = int(sys.argv[1])
while True:  # while it runs, it has no place of which anybody else could know
    with open(f"/proc/{pid}/syscall") as file:
        words = file.read().split()
    if words[0] != "running":
        break
    time.sleep(0.01)
with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
    memory.seek(int(words[-1], 16))
    memory.write(b"\x0f\x0b\x00\x00")  # ud2 on x86, udf on 64-bit ARM
