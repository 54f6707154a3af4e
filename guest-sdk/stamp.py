#!/usr/bin/env python3
"""Says in a component which contract it was built against, as wit/VERSIONING.md tells; the Rust SDK does it by itself.

Usage: stamp.py COMPONENT
"""

import hashlib
import pathlib
import re
import sys

CONTRACT = pathlib.Path(__file__).resolve().parent.parent / "wit" / "plugin"
SECTION = b"homeagent:contract"
LENGTH = 64


def digest(folder):
    """The contract's digest: over its declarations alone, without comments and spacing."""
    words = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        for line in file.read_text(encoding="utf-8").splitlines():
            for word in line.split("//")[0].split():
                words.update(word.encode() + b" ")
    return words.hexdigest()[:32]


def version(folder):
    first = (folder / "types.wit").read_text(encoding="utf-8")
    return re.search(r"^package homeagent:plugin@([0-9.]+);", first, re.MULTILINE).group(1)


def leb128(number):
    encoded = bytearray()
    while True:
        number, low = number >> 7, number & 0x7F
        encoded.append(low | (0x80 if number else 0))
        if not number:
            return bytes(encoded)


def main(component):
    stamp = f"plugin@{version(CONTRACT)} {digest(CONTRACT)}".ljust(LENGTH).encode()
    content = leb128(len(SECTION)) + SECTION + stamp
    # A custom section may stand at the end of a component.
    with open(component, "ab") as file:
        file.write(b"\0" + leb128(len(content)) + content)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
