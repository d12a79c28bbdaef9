"""usage: crash.py PID: when that process next wakes, it executes an instruction that there is not, as by a fault of its own."""
import sys

pid = int(sys.argv[1])
with open(f"/proc/{pid}/syscall") as file:
    at = int(file.read().split()[-1], 16)
with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
    memory.seek(at)
    memory.write(b"\x0f\x0b\x00\x00")  # ud2 on x86, udf on 64-bit ARM
