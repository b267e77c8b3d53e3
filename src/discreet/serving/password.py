"""SCRAM-SHA-256 (RFC 5802, 7677): a client proves that it knows the password, without saying it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from discreet.serving.messages import Refusal, break_off

MECHANISM = "SCRAM-SHA-256"
ROUNDS = 4096


class Scram:
    """One proof, in two steps; the password itself is not kept."""

    def __init__(self, password: str) -> None:
        self._salt = secrets.token_bytes(16)
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), self._salt, ROUNDS)
        self._stored = hashlib.sha256(_sign(salted, b"Client Key")).digest()
        self._server = _sign(salted, b"Server Key")
        self._nonce, self._said, self._header = "", "", ""

    def challenge(self, first: str) -> bytes:
        """Answer a client's first message."""
        header, _, bare = first.partition(",,")
        if header not in ("n", "y"):  # "p" would bind to an encryption that there is none of
            raise break_off("The client asks for a kind of password that is not known here.")
        named = _read_pairs(bare)
        self._header, self._nonce = f"{header},,", named.get("r", "") + secrets.token_urlsafe(18)
        salt = base64.b64encode(self._salt).decode()
        reply = f"r={self._nonce},s={salt},i={ROUNDS}"
        self._said = f"{bare},{reply}"
        return reply.encode()

    def finish(self, last: str) -> bytes:
        """Check the proof, and give the server's own."""
        without, _, proof = last.rpartition(",p=")
        named = _read_pairs(without)
        said = f"{self._said},{without}".encode()
        try:
            given = base64.b64decode(proof, validate=True)
            bound = base64.b64decode(named.get("c", ""), validate=True).decode()
        except ValueError:
            raise break_off("The proof of the password cannot be read.") from None
        mask = _sign(self._stored, said)
        key = bytes(a ^ b for a, b in zip(given.ljust(32, b"\0"), mask, strict=False))
        right = hmac.compare_digest(hashlib.sha256(key).digest(), self._stored)
        fresh = hmac.compare_digest(named.get("r", "").encode(), self._nonce.encode())
        if not (right and fresh and len(given) == len(mask) and bound == self._header):
            raise Refusal(
                "28P01", "The password is wrong.", "It is whatever DISCREET_PASSWORD was.",
                fatal=True,
            )  # fmt: skip
        return b"v=" + base64.b64encode(_sign(self._server, said))


def _sign(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def _read_pairs(text: str) -> dict[str, str]:
    return {part[:1]: part[2:] for part in text.split(",") if part[1:2] == "="}
