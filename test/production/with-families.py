# Runs a program that may open sockets of these families only, as under RestrictAddressFamilies= of systemd:
# with-families.py "AF_UNIX AF_INET" program argument ...
import ctypes, errno, os, platform, socket, struct, sys

SOCKET_CALL = {"x86_64": 41, "aarch64": 198}[platform.machine()]
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
NUMBER, FIRST_ARGUMENT = 0, 16  # where these are in seccomp_data
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EAFNOSUPPORT
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2

families = [getattr(socket, name) for name in sys.argv[1].split()]
step = lambda code, value, then=0, otherwise=0: struct.pack("HBBI", code, then, otherwise, value)
filter = [step(LOAD, NUMBER), step(EQUAL, SOCKET_CALL, 0, len(families) + 2), step(LOAD, FIRST_ARGUMENT)]
filter += [step(EQUAL, family, len(families) - i) for i, family in enumerate(families)]
filter += [step(RETURN, REFUSE), step(RETURN, ALLOW)]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


steps = ctypes.create_string_buffer(b"".join(filter))
libc = ctypes.CDLL(None, use_errno=True)
for call in (
    (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
    (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Program(len(filter), ctypes.addressof(steps)))),
):
    if libc.prctl(*call) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[2], sys.argv[2:])
