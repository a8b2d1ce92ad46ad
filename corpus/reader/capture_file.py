"""Reads pcap and pcapng: both byte orders, both resolutions, enhanced and simple packet blocks."""
import struct


def read_capture(data):
    """Yields (link type, bytes, length on the wire) for each packet of a pcap or pcapng file."""
    if len(data) < 24:
        raise ValueError("too short for a capture file")
    if data[:4] == b"\x0a\x0d\x0d\x0a":
        yield from read_pcapng(data)
    else:
        yield from read_pcap(data)


def read_pcap(data):
    for order in "<>":
        magic, = struct.unpack_from(order + "I", data)
        if magic in (0xA1B2C3D4, 0xA1B23C4D):
            break
    else:
        raise ValueError("neither pcap nor pcapng")
    link, = struct.unpack_from(order + "I", data, 20)
    at = 24
    while at < len(data):
        _, _, captured, length = struct.unpack_from(order + "IIII", data, at)
        if at + 16 + captured > len(data):
            raise ValueError("the last packet is not whole")
        yield link & 0xFFFF, data[at + 16:at + 16 + captured], length
        at += 16 + captured


def read_pcapng(data):
    at, order, interfaces = 0, "<", []
    while at < len(data):
        if data[at:at + 4] == b"\x0a\x0d\x0d\x0a":
            order = "<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            interfaces = []
        kind, size = struct.unpack_from(order + "II", data, at)
        if size < 12 or size % 4 or at + size > len(data):
            raise ValueError("a block of impossible length")
        body = data[at + 8:at + size - 4]
        if kind == 1:
            link, _, snap = struct.unpack_from(order + "HHI", body)
            interfaces.append((link, snap))
        elif kind == 6:
            interface, _, _, captured, length = struct.unpack_from(order + "IIIII", body)
            yield interfaces[interface][0], body[20:20 + captured], length
        elif kind == 3:
            length, = struct.unpack_from(order + "I", body)
            link, snap = interfaces[0]
            yield link, body[4:4 + (min(length, snap) if snap else length)], length
        at += size
