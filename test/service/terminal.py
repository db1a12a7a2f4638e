"""A terminal for tests: runs a command in a pseudo-terminal of its own, as its session's leader. What comes on standard
input is typed there; the end of it closes the terminal. Says the command's process id first, and ends with its exit code."""

import os
import pty
import select
import sys

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
os.write(1, b"%d\n" % pid)
while True:
    readable, _, _ = select.select([0, terminal], [], [])
    if terminal in readable:
        try:
            os.write(1, os.read(terminal, 65536))
        except OSError:  # nobody has the terminal open any more
            break
    if 0 in readable:
        typed = os.read(0, 1024)
        if not typed:
            break
        os.write(terminal, typed)
os.close(terminal)
_, status = os.waitpid(pid, 0)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
