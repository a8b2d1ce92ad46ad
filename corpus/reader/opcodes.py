"""The opcodes of a BTH and the headers behind it."""
from reader.numbers import hex64, u24, u32


SIZES = {
    "rdeth": 4, "deth": 8, "xrceth": 4, "feth": 4, "reth": 16, "aeth": 4, "atomicEth": 28, "atomicAckEth": 8,
    "immDt": 4, "ieth": 4, "cnp": 16,
}
READERS = {
    "rdeth": lambda d, at: {"eeContext": u24(d, at + 1)},
    "deth": lambda d, at: {"qkey": u32(d, at), "sourceQpn": u24(d, at + 5)},
    "xrceth": lambda d, at: {"srqn": u24(d, at + 1)},
    "feth": lambda d, at: {"placement": d[at + 3] & 15, "selectivity": d[at + 3] >> 4 & 3},
    "reth": lambda d, at: {"va": hex64(d, at), "rkey": u32(d, at + 8), "length": u32(d, at + 12)},
    "aeth": lambda d, at: aeth(d[at], u24(d, at + 1)),
    "atomicEth": lambda d, at: {
        "va": hex64(d, at), "rkey": u32(d, at + 8), "swapAdd": hex64(d, at + 12), "compare": hex64(d, at + 20),
    },
    "atomicAckEth": lambda d, at: {"original": hex64(d, at)},
    "immDt": lambda d, at: {"value": u32(d, at)},
    "ieth": lambda d, at: {"rkey": u32(d, at)},
    "cnp": lambda d, at: {"reserved": d[at:at + 16].hex()},
}
# Operation: name, headers, services that have it.
OPERATIONS = {
    0x00: ("SEND First", [], "RC UC RD XRC"),
    0x01: ("SEND Middle", [], "RC UC RD XRC"),
    0x02: ("SEND Last", [], "RC UC RD XRC"),
    0x03: ("SEND Last with Immediate", ["immDt"], "RC UC RD XRC"),
    0x04: ("SEND Only", [], "RC UC RD UD XRC"),
    0x05: ("SEND Only with Immediate", ["immDt"], "RC UC RD UD XRC"),
    0x06: ("RDMA WRITE First", ["reth"], "RC UC RD XRC"),
    0x07: ("RDMA WRITE Middle", [], "RC UC RD XRC"),
    0x08: ("RDMA WRITE Last", [], "RC UC RD XRC"),
    0x09: ("RDMA WRITE Last with Immediate", ["immDt"], "RC UC RD XRC"),
    0x0A: ("RDMA WRITE Only", ["reth"], "RC UC RD XRC"),
    0x0B: ("RDMA WRITE Only with Immediate", ["reth", "immDt"], "RC UC RD XRC"),
    0x0C: ("RDMA READ Request", ["reth"], "RC RD XRC"),
    0x0D: ("RDMA READ response First", ["aeth"], "RC RD XRC"),
    0x0E: ("RDMA READ response Middle", [], "RC RD XRC"),
    0x0F: ("RDMA READ response Last", ["aeth"], "RC RD XRC"),
    0x10: ("RDMA READ response Only", ["aeth"], "RC RD XRC"),
    0x11: ("Acknowledge", ["aeth"], "RC RD XRC"),
    0x12: ("ATOMIC Acknowledge", ["aeth", "atomicAckEth"], "RC RD XRC"),
    0x13: ("CmpSwap", ["atomicEth"], "RC RD XRC"),
    0x14: ("FetchAdd", ["atomicEth"], "RC RD XRC"),
    0x15: ("RESYNC", [], "RD"),
    0x16: ("SEND Last with Invalidate", ["ieth"], "RC XRC"),
    0x17: ("SEND Only with Invalidate", ["ieth"], "RC XRC"),
    0x1C: ("FLUSH", ["feth", "reth"], "RC"),
    0x1D: ("ATOMIC WRITE", ["reth"], "RC"),
}
SERVICES = {"RC": 0x00, "UC": 0x20, "RD": 0x40, "UD": 0x60, "XRC": 0xA0}
# Headers of the service alone: of requests, of responses.
OF_SERVICE = {"RD": (["rdeth", "deth"], ["rdeth"]), "UD": (["deth"], []), "XRC": (["xrceth"], [])}
OPCODES = {0x81: ("CNP", ["cnp"])}
for _operation, (_name, _headers, _services) in OPERATIONS.items():
    for _service in _services.split():
        _first = OF_SERVICE.get(_service, ([], []))[0x0D <= _operation <= 0x12]
        OPCODES[SERVICES[_service] | _operation] = (_service + " " + _name, _first + _headers)

NAKS = [
    "PSN sequence error", "invalid request", "remote access error", "remote operational error", "invalid RD request",
]


def aeth(syndrome, msn):
    kind, value = syndrome >> 5, syndrome & 31
    found = {"syndrome": syndrome, "msn": msn, "kind": {0: "ack", 1: "rnr-nak", 3: "nak"}.get(kind, "reserved")}
    if kind == 0:
        found["creditCode"] = value
    elif kind == 1:
        found["timerCode"] = value
        found["timerUs"] = rnr_timer_us(value)
    elif kind == 3 and value < len(NAKS):
        found["nak"] = NAKS[value]
    return found


def rnr_timer_us(code):
    if code == 1:
        return 10
    code = code or 32
    return 10 * 2 ** (code // 2) if code % 2 == 0 else 15 * 2 ** ((code - 1) // 2)
