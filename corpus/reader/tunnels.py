"""What packets are carried in: link types of captures, VLAN tags beyond two, tunnels."""
from reader.numbers import u16, u24, u32

MOST_TUNNELS = 4

CARRIERS = {"not-ip", "not-udp", "not-roce", "truncated", "bad-ip-header", "bad-ip-checksum"}


def link_layer(link, data):
    """What the packet begins with ("ethernet", "ip", or the EtherType of what follows), and where."""
    end = len(data)
    if link == 1:
        return "ethernet", 0, end
    if link == 101:
        return "ip", 0, end
    if link == 113 and end >= 16:
        return u16(data, 14), 16, end
    if link == 276 and end >= 20:
        return u16(data, 0), 20, end
    if link == 0 and end >= 4:
        return {2: 0x0800}.get(max(data[0], data[3]), 0x86DD), 4, end
    raise ValueError("link type %d is not known here" % link)


def find_inner(data, medium, at, end):
    """(tunnel, medium, start, end) of the packet within; the name of an encryption; None."""
    kind = medium
    if medium == "ethernet":
        if end - at < 14:
            return None
        kind, at = u16(data, at + 12), at + 14
    if kind == "ip":
        return inner_of_ip(data, at, end)
    tags, old, vlan = 0, False, 0
    while kind in (0x8100, 0x88A8, 0x9100):
        if end - at < 4:
            return None
        old = old or kind == 0x9100
        vlan, kind = u16(data, at) & 0xFFF, u16(data, at + 2)
        at, tags = at + 4, tags + 1
    if kind in (0x0800, 0x86DD):
        if old or tags > (2 if medium == "ethernet" else 0):
            return {"kind": "VLANs", "id": vlan}, "ip", at, end
        return inner_of_ip(data, at, end)
    if kind in (0x8847, 0x8848):
        return inner_of_mpls(data, at, end)
    if kind == 0x8864 and end - at > 8 and u16(data, at) == 0x1100 and u16(data, at + 6) in (0x21, 0x57):
        return {"kind": "PPPoE", "id": u16(data, at + 2)}, "ip", at + 8, end
    return "MACsec" if kind == 0x88E5 else None


def inner_of_ip(data, at, end):
    version = data[at] >> 4 if at < end else 0
    if version == 4 and end - at >= 20:
        size, total, protocol = 4 * (data[at] & 15), u16(data, at + 2), data[at + 9]
        if size < 20 or u16(data, at + 6) & 0x1FFF:
            return None
        if total >= size:
            end = min(end, at + total)
        at += size
    elif version == 6 and end - at >= 40:
        protocol = data[at + 6]
        if u16(data, at + 4):
            end = min(end, at + 40 + u16(data, at + 4))
        at += 40
        while protocol in (0, 43, 60) and end - at >= 8:
            protocol, at = data[at], at + 8 * (data[at + 1] + 1)
    else:
        return None
    if protocol in (4, 41) and at < end:
        return {"kind": "IP in IP"}, "ip", at, end
    if protocol == 47:
        return inner_of_gre(data, at, end)
    if protocol == 17:
        return inner_of_udp(data, at, end)
    return "ESP" if protocol == 50 else None


def inner_of_udp(data, at, end):
    if end - at < 16:
        return None
    port, shim, inner = u16(data, at + 2), at + 8, at + 16
    vni = u24(data, shim + 4)
    if port == 4789 and data[shim] & 8:
        return {"kind": "VXLAN", "id": vni}, "ethernet", inner, end
    if port == 4790 and data[shim + 3] in (1, 2, 3):
        return {"kind": "VXLAN-GPE", "id": vni}, "ethernet" if data[shim + 3] == 3 else "ip", inner, end
    if port == 6081 and data[shim] >> 6 == 0:
        return by_type("Geneve", vni, u16(data, shim + 2), data, inner + 4 * (data[shim] & 63), end)
    return None


def inner_of_gre(data, at, end):
    if end - at < 4:
        return None
    flags, kind, key = u16(data, at), u16(data, at + 2), None
    at += 4 + (4 if flags & 0x8000 else 0)
    if flags & 0x2000:
        key, at = u32(data, at), at + 4
    if flags & 0x1000:
        at += 4
    if kind == 0x88BE:
        if not flags & 0x1000:
            return {"kind": "ERSPAN I"}, "ethernet", at, end
        return {"kind": "ERSPAN II", "id": u16(data, at + 2) & 0x3FF}, "ethernet", at + 8, end
    if kind == 0x22EB:
        inner = at + 12 + (8 if data[at + 11] & 1 else 0)
        return {"kind": "ERSPAN III", "id": u16(data, at + 2) & 0x3FF}, "ethernet", inner, end
    return by_type("GRE", key, kind, data, at, end)


def inner_of_mpls(data, at, end):
    while end - at >= 5:
        entry, at = u32(data, at), at + 4
        if entry & 0x100:
            tunnel = {"kind": "MPLS", "id": entry >> 12}
            if data[at] >> 4 in (4, 6):
                return tunnel, "ip", at, end
            return tunnel, "ethernet", at + (0 if data[at] >> 4 else 4), end
    return None


def by_type(name, number, kind, data, at, end):
    tunnel = {"kind": name} if number is None else {"kind": name, "id": number}
    if kind == 0x6558:
        return tunnel, "ethernet", at, end
    return (tunnel, "ip", at, end) if kind in (0x0800, 0x86DD) else None
