"""What scapy's RoCE layer (scapy.contrib.roce) says of a capture, or frames that it builds itself.

Usage: scapy-roce.py read FILE    one JSON line for each packet with a BTH
       scapy-roce.py build        one JSON line for each frame built
"""
import json
import logging
import sys

# A warning for every packet over IPv6, of which scapy cannot compute the ICRC: the answer says so as well.
logging.getLogger("scapy").setLevel(logging.CRITICAL)

from scapy.contrib.roce import AETH, BTH, cnp, opcode
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import PcapReader

BTH_FIELDS = [
    "opcode", "solicited", "migreq", "padcount", "version", "pkey", "fecn", "becn", "resv6", "dqpn", "ackreq",
    "resv7", "psn",
]


def read(path):
    for number, packet in enumerate(PcapReader(path), 1):
        if BTH not in packet:
            continue
        bth = packet[BTH]
        layer = bth.payload
        aeth = {"syndrome": layer.syndrome, "msn": layer.msn} if isinstance(layer, AETH) else None
        print(json.dumps({
            "number": number,
            "name": bth.sprintf("%BTH.opcode%"),
            "bth": {name: bth.getfieldval(name) for name in BTH_FIELDS},
            "aeth": aeth,
            "behindBth": bytes(layer).hex(),
            "icrc": bth.icrc.to_bytes(4, "big").hex(),
            "computedIcrc": bth.compute_icrc(b"").hex(),
        }))


def build():
    below = Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b") / IP(src="10.0.0.1", dst="10.0.0.2", id=77, tos=2)
    below = below / UDP(sport=50000, dport=4791)
    frames = {
        "a congestion notification": below / cnp(0x123456),
        "an ACK": below / BTH(opcode=opcode("RC", "ACKNOWLEDGE")[0], dqpn=0x11, psn=5) / AETH(syndrome=0x62, msn=9),
        "a SEND": below / BTH(opcode=opcode("UC", "SEND_ONLY")[0], dqpn=0x22, psn=0xffffff, padcount=1, migreq=1) / Raw(b"abc\0"),
    }
    for name, frame in frames.items():
        print(json.dumps({"name": name, "frame": bytes(frame).hex()}))


if sys.argv[1] == "read":
    read(sys.argv[2])
else:
    build()
