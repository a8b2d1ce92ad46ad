"""From a captured packet to its fields: link layer, IP, UDP, BTH, extended headers, ICRC."""
import struct
import zlib

from reader.mads import mad
from reader.numbers import address, ones_sum, u16, u24
from reader.opcodes import OPCODES, READERS, SIZES
from reader.tunnels import CARRIERS, MOST_TUNNELS, find_inner, link_layer

ROCE_PORT = 4791


class Malformed(Exception):
    """The first thing that is wrong with a packet, or that makes it none of RoCEv2."""


class Packet:
    """A packet and what was found in it. What the capture cut is zero, so that lengths are as on the wire."""

    def __init__(self, link, captured, length):
        self.have = len(captured)
        self.data = captured + bytes(max(0, length - self.have))
        self.ip_end = None
        self.found = {"captured": self.have, "length": length}
        layers = []
        medium, at, end = link_layer(link, self.data)
        while True:
            self.layer = {}
            try:
                self.parse(medium, at, end)
                status = "ok"
            except Malformed as why:
                status = str(why)
            inner = None
            if status in CARRIERS and len(layers) < MOST_TUNNELS:
                inner = find_inner(self.data, medium, at, end)
            if inner is None or isinstance(inner, str):
                break
            tunnel, medium, at, end = inner
            layers.append(tunnel)
        self.found["status"] = status
        if self.is_cut():
            self.found["cut"] = True
        if layers:
            self.found["tunnels"] = layers
        if isinstance(inner, str):
            self.found["unreadable"] = inner
        self.found.update(self.layer)

    def is_cut(self):
        """Bytes behind the IP packet may be missing."""
        return self.have < self.found["length"] and (self.ip_end is None or self.ip_end > self.have)

    def need(self, at, size, end):
        """That so many bytes are there, in the packet and in the capture."""
        if at + size > end or at + size > self.have:
            raise Malformed("truncated")

    def parse(self, medium, at, end):
        self.ip_end = None
        data = self.data
        kind = medium
        if medium == "ethernet":
            self.need(at, 14, end)
            kind, at = u16(data, at + 12), at + 14
        if isinstance(kind, int):
            tags = 0
            while kind in (0x8100, 0x88A8) and tags < 2:
                self.need(at, 4, end)
                tci = u16(data, at)
                kind, at, tags = u16(data, at + 2), at + 4, tags + 1
                self.layer["vlan"] = {"priority": tci >> 13, "dei": tci >> 12 & 1, "id": tci & 0xFFF}
            version = {0x0800: 4, 0x86DD: 6}.get(kind)
        else:
            self.need(at, 1, end)
            version = data[at] >> 4
        vlan = self.layer.pop("vlan", None)
        if version not in (4, 6):
            raise Malformed("not-ip")
        self.need(at, 20 if version == 4 else 40, end)
        if data[at] != 0x45 if version == 4 else data[at] >> 4 != 6:
            raise Malformed("bad-ip-header")
        if vlan:
            self.layer["vlan"] = vlan
        udp = self.parse_ipv4(at, end) if version == 4 else self.parse_ipv6(at, end)
        self.parse_udp(at, version, udp)

    def parse_ipv4(self, at, end):
        data = self.data
        self.layer["ip"] = {
            "at": at, "version": 4, "source": address(data[at + 12:at + 16]),
            "destination": address(data[at + 16:at + 20]), "trafficClass": data[at + 1], "hopLimit": data[at + 8],
            "protocol": data[at + 9],
        }
        total = u16(data, at + 2)
        if total < 20:
            raise Malformed("bad-ip-header")
        if total > end - at:
            raise Malformed("truncated")
        self.ip_end = at + total
        if ones_sum(data[at:at + 20]) != 0xFFFF:
            raise Malformed("bad-ip-checksum")
        if u16(data, at + 6) & 0x3FFF:
            raise Malformed("fragment")
        if data[at + 9] != 17:
            raise Malformed("not-udp")
        return at + 20

    def parse_ipv6(self, at, end):
        data = self.data
        self.layer["ip"] = {
            "at": at, "version": 6, "source": address(data[at + 8:at + 24]),
            "destination": address(data[at + 24:at + 40]), "trafficClass": u16(data, at) >> 4 & 0xFF,
            "hopLimit": data[at + 7], "protocol": data[at + 6],
        }
        length = u16(data, at + 4)
        if length > end - at - 40:
            raise Malformed("truncated")
        self.ip_end = at + 40 + length
        if data[at + 6] != 17:
            raise Malformed("not-udp")
        return at + 40

    def parse_udp(self, ip, version, at):
        available = self.ip_end - at
        if available < 8:
            raise Malformed("bad-udp-length")
        self.need(at, 8, self.ip_end)
        port = u16(self.data, at + 2)
        self.layer["udp"] = {"at": at, "sourcePort": u16(self.data, at), "destPort": port}
        if port != ROCE_PORT:
            raise Malformed("not-roce")
        length = u16(self.data, at + 4)
        if length != available or length < 8 + 12 + 4:
            raise Malformed("bad-udp-length")
        self.parse_bth(ip, version, at, at + 8, self.ip_end - 4)

    

    def parse_bth(self, ip, version, udp, at, icrc):
        self.need(at, 12, icrc)
        data = self.data
        opcode, flags = data[at], data[at + 1]
        name, headers = OPCODES.get(opcode, (None, None))
        self.layer["bth"] = {
            "at": at, "opcode": opcode, "solicited": flags >> 7, "migReq": flags >> 6 & 1, "padCount": flags >> 4 & 3,
            "version": flags & 15, "pkey": u16(data, at + 2), "fecn": data[at + 4] >> 7, "becn": data[at + 4] >> 6 & 1,
            "destQpn": u24(data, at + 5), "ackReq": data[at + 8] >> 7, "psn": u24(data, at + 9),
        }
        if name:
            self.layer["bth"]["name"] = name
        try:
            self.parse_headers(at, icrc, headers)
            whole = True
        except Malformed:
            whole = False
            raise
        finally:
            self.layer["icrc"] = self.icrc(ip, version, udp, at, icrc, whole)

    def parse_headers(self, bth, icrc, headers):
        data = self.data
        pad = data[bth + 1] >> 4 & 3
        if data[bth + 1] & 15:
            raise Malformed("bad-transport-version")
        if headers is None:
            raise Malformed("unknown-opcode")
        payload = bth + 12 + sum(SIZES[header] for header in headers)
        if payload > icrc:
            raise Malformed("bad-header-length")
        if pad > icrc - payload:
            raise Malformed("bad-pad")
        self.need(bth + 12, payload - bth - 12, icrc)
        at = bth + 12
        for header in headers:
            self.layer[header] = READERS[header](data, at)
            at += SIZES[header]
        length = icrc - payload - pad
        is_mad = data[bth] >> 5 == 3 and u24(data, bth + 5) == 1
        if is_mad and length >= 24 and payload + length <= self.have:
            self.layer.update(mad(data[payload:payload + length]))
        self.layer["payload"] = {"at": payload, "length": length}

    def icrc(self, ip, version, udp, bth, at, whole):
        if self.have < self.ip_end:
            return {"at": at, "right": None}
        data = self.data
        computed = icrc_of(data[ip:at], version, udp - ip, bth - ip)
        value = data[at:at + 4]
        found = {"at": at, "value": value.hex(), "computed": computed.hex(), "right": value == computed}
        if whole and data[bth] == 0x1C and value != computed:
            # rdma_rxe runs the CRC over BTH, FETH and RETH of a FLUSH once more, with nothing masked.
            twice = zlib.crc32(data[bth:at], struct.unpack("<I", computed)[0])
            if value == struct.pack("<I", twice):
                found["recipe"] = "rxe-flush"
        return found


def icrc_of(packet, version, udp, bth):
    """The ICRC of a packet from its IP header to before the ICRC, as the four bytes on the wire."""
    masked = bytearray(packet)
    if version == 4:
        ones = [1, 8, 10, 11]
    else:
        masked[0] |= 0x0F
        ones = [1, 2, 3, 7]
    for at in ones + [udp + 6, udp + 7, bth + 4]:
        masked[at] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(masked)))
