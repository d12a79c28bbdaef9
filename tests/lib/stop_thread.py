"""usage: stop_thread.py TID: stops that thread alone, as a debugger at its prompt does, until killed; says `stopped`."""
import ctypes
import os
import signal
import sys

PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
thread = int(sys.argv[1])
for request in PTRACE_SEIZE, PTRACE_INTERRUPT:
    if libc.ptrace(request, thread, None, None) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
os.waitpid(thread, WALL)
print("stopped", flush=True)
signal.pause()
