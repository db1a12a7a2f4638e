"""Judges signatures of kind v1a, with nothing of ours: prints a JSON list of whether each of the given messages verifies.

Reads a JSON list of {"publicKey", "id", "timestamp", "signature", "body"}; `signature` is the whole header.
"""
import base64
import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def is_valid(message):
    prefix, encoded = message["publicKey"][:5], message["publicKey"][5:]
    assert prefix == "whpk_"
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(encoded, validate=True))
    signed = ".".join([message["id"], message["timestamp"], message["body"]]).encode()
    for each in message["signature"].split(" "):
        kind, _, signature = each.partition(",")
        if kind == "v1a":
            try:
                key.verify(base64.b64decode(signature, validate=True), signed)
                return True
            except InvalidSignature:
                pass
    return False


print(json.dumps([is_valid(message) for message in json.load(sys.stdin)]))
