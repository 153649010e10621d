"""What the formats of /openapi.json stand for, told to schemathesis."""

import struct

import schemathesis
from hypothesis import strategies

# Cursors are opaque: only the server makes them. An empty one is the beginning; `p0` is the beginning of the journal.
schemathesis.openapi.format("parley-cursor", strategies.just(""))
schemathesis.openapi.format("parley-since", strategies.sampled_from(["", "start", "p0"]))
schemathesis.openapi.format("parley-position", strategies.just("p0"))
schemathesis.openapi.format("parley-id", strategies.integers(1, 40).map(str))


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Patterns are ECMA-262, where `$` is the end of the text; in Python it also stands before a last newline."""

    def walk(node):
        if isinstance(node, dict):
            pattern = node.get("pattern")
            if isinstance(pattern, str) and pattern.endswith("$"):
                node["pattern"] = pattern[:-1] + r"\Z"
            for member in node.values():
                walk(member)
        elif isinstance(node, list):
            for item in node:
                walk(item)

    walk(raw_schema)


def png(size):
    width, height = size
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x06\0\0\0rest"


IMAGES = strategies.tuples(strategies.integers(1, 4096), strategies.integers(1, 4096)).map(png)
for kind in ["image/png", "image/jpeg", "image/webp", "image/gif"]:
    # The content says what an image is, and never its name.
    schemathesis.openapi.media_type(kind, IMAGES)
