"""Management datagrams: the common header, and the messages of connection management."""
import ipaddress

from reader.numbers import address, bits, hex64, u16, u32


PATH_GIDS = [("localLid", 0, 16), ("remoteLid", 16, 16), ("localGid", 32, 128), ("remoteGid", 160, 128)]
REQ_PATH = PATH_GIDS + [
    ("flowLabel", 288, 20), ("packetRate", 314, 6), ("trafficClass", 320, 8), ("hopLimit", 328, 8),
    ("serviceLevel", 336, 4), ("subnetLocal", 340, 1), ("localAckTimeout", 344, 5),
]
LAP_PATH = PATH_GIDS + [
    ("flowLabel", 288, 20), ("trafficClass", 312, 8), ("hopLimit", 320, 8), ("packetRate", 330, 6),
    ("serviceLevel", 336, 4), ("subnetLocal", 340, 1), ("localAckTimeout", 344, 5),
]
IDS = [("localCommId", 0, 32), ("remoteCommId", 32, 32)]
# By attribute: name, fields as (name, first bit behind the MAD header, bits); a list of bits that are not together; a
# path as (name, first bit, its fields). Areas of bytes are in bytes: "AREA", first byte, length.
MESSAGES = {
    0x10: ("REQ", [
        ("localCommId", 0, 32), ("vendorId", 40, 24), ("serviceId", 64, 64), ("localCaGuid", 128, 64),
        ("localQkey", 224, 32), ("localQpn", 256, 24), ("responderResources", 280, 8), ("localEecn", 288, 24),
        ("initiatorDepth", 312, 8), ("remoteEecn", 320, 24), ("remoteCmResponseTimeout", 344, 5),
        ("transportServiceType", 349, 2), ("endToEndFlowControl", 351, 1), ("startingPsn", 352, 24),
        ("localCmResponseTimeout", 376, 5), ("retryCount", 381, 3), ("partitionKey", 384, 16), ("pathMtu", 400, 4),
        ("rdcExists", 404, 1), ("rnrRetryCount", 405, 3), ("maxCmRetries", 408, 4), ("srq", 412, 1),
        ("extendedTransportType", 413, 3), ("primaryPath", 416, REQ_PATH), ("alternatePath", 768, REQ_PATH),
        ("sapSupported", 1117, 1), ("privateData", "AREA", 140, 92),
    ]),
    0x11: ("MRA", IDS + [("messageMraed", 64, 2), ("serviceTimeout", 72, 5), ("privateData", "AREA", 10, 222)]),
    0x12: ("REJ", IDS + [
        ("messageRejected", 64, 2), ("infoLength", 72, 7), ("reason", 80, 16), ("info", "AREA", 12, 72),
        ("privateData", "AREA", 84, 148),
    ]),
    0x13: ("REP", IDS + [
        ("localQkey", 64, 32), ("localQpn", 96, 24), ("localEecn", 128, 24), ("startingPsn", 160, 24),
        ("vendorId", [(120, 8), (152, 8), (184, 8)]), ("responderResources", 192, 8), ("initiatorDepth", 200, 8),
        ("targetAckDelay", 208, 5), ("failoverAccepted", 213, 2), ("endToEndFlowControl", 215, 1),
        ("rnrRetryCount", 216, 3), ("srq", 219, 1), ("localCaGuid", 224, 64), ("privateData", "AREA", 36, 196),
    ]),
    0x14: ("RTU", IDS + [("privateData", "AREA", 8, 224)]),
    0x15: ("DREQ", IDS + [("remoteQpn", 64, 24), ("privateData", "AREA", 12, 220)]),
    0x16: ("DREP", IDS + [("privateData", "AREA", 8, 224)]),
    0x17: ("SIDR_REQ", [
        ("requestId", 0, 32), ("partitionKey", 32, 16), ("serviceId", 64, 64), ("privateData", "AREA", 16, 216),
    ]),
    0x18: ("SIDR_REP", [
        ("requestId", 0, 32), ("status", 32, 8), ("infoLength", 40, 8), ("vendorId", [(48, 16), (88, 8)]),
        ("qpn", 64, 24), ("serviceId", 96, 64), ("qkey", 160, 32), ("info", "AREA", 24, 72),
        ("privateData", "AREA", 96, 136),
    ]),
    0x19: ("LAP", IDS + [
        ("remoteQpn", 96, 24), ("remoteCmResponseTimeout", 120, 5), ("alternatePath", 160, LAP_PATH),
        ("privateData", "AREA", 64, 168),
    ]),
    0x1A: ("APR", IDS + [
        ("infoLength", 64, 8), ("status", 72, 8), ("info", "AREA", 12, 72), ("privateData", "AREA", 84, 148),
    ]),
}


def mad(data):
    """The common header, and the message where it is one of connection management."""
    found = {"mad": {
        "baseVersion": data[0], "mgmtClass": data[1], "classVersion": data[2], "method": data[3],
        "status": u16(data, 4), "classSpecific": u16(data, 6), "transactionId": hex64(data, 8),
        "attributeId": u16(data, 16), "attributeModifier": u32(data, 20),
    }}
    attribute = u16(data, 16)
    if len(data) != 256 or tuple(data[:4]) != (1, 7, 2, 3) or attribute not in MESSAGES:
        return found
    name, fields = MESSAGES[attribute]
    body = data[24:]
    found["cm"] = dict(message=name, **{field[0]: cm_field(body, 0, field) for field in fields})
    # RDMA CM's service ids have 0x01 in the fourth byte from the end and zeros before; its version is 0.
    area = body[140:] if name == "REQ" else body[16:]
    if name in ("REQ", "SIDR_REQ") and bits(body, 64, 64) >> 24 == 1 and area[0] >> 4 == 0 and area[1] >> 4 in (4, 6):
        skip = 12 if area[1] >> 4 == 4 else 0
        found["ipCm"] = {
            "sourcePort": u16(area, 2), "source": address(area[4 + skip:20]),
            "destination": address(area[20 + skip:36]),
        }
    return found


def cm_field(body, base, field):
    name, first = field[0], field[1]
    if first == "AREA":
        return body[field[2]:field[2] + field[3]].rstrip(b"\0").hex()
    if isinstance(first, list):
        value = 0
        for at, width in first:
            value = value << width | bits(body, at, width)
        return value
    if isinstance(field[2], list):
        return {inner[0]: cm_field(body, first, inner) for inner in field[2]}
    value = bits(body, base + first, field[2])
    if field[2] == 128:
        gid = ipaddress.IPv6Address(value)
        return str(gid.ipv4_mapped or gid)
    return "0x%016x" % value if field[2] == 64 else value
