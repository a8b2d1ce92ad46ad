#!/usr/bin/env python3
"""Checks the corpus: reads every capture, parses every packet, computes every ICRC, and compares with the JSON.

Usage: check.py [FOLDER]       FOLDER is that of index.json; default: the one this file is in.

Needs Python 3.8 or later and nothing else, and shares no code with the project that wrote the JSON: the folder
reader/ is a second reader of RoCEv2, small enough to be read and taken apart. Prints counts; exit status 0 where all is
as expected, 1 where something differs, 2 where the folder cannot be read.
"""
import hashlib
import json
import os
import struct
import sys

sys.dont_write_bytecode = True
from reader.capture_file import read_capture  # noqa: E402
from reader.packet import Packet  # noqa: E402

MOST_PRINTED = 20


class Report:
    def __init__(self):
        self.captures = self.packets = self.roce = self.fields = self.differences = 0
        self.icrc = {True: 0, False: 0, None: 0}

    def differs(self, where, words):
        self.differences += 1
        if self.differences <= MOST_PRINTED:
            print("%s: %s" % (where, words))

    def compare(self, where, expected, found):
        """Field by field, so that a difference is named by its path."""
        if isinstance(expected, dict) and isinstance(found, dict):
            for key in sorted(set(expected) | set(found)):
                if key not in found:
                    self.differs(where, "%s is expected and not found" % key)
                elif key not in expected:
                    self.differs(where, "%s is found and not expected: %r" % (key, found[key]))
                else:
                    self.compare("%s %s" % (where, key), expected[key], found[key])
        elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
            for i, (left, right) in enumerate(zip(expected, found)):
                self.compare("%s[%d]" % (where, i), left, right)
        else:
            self.fields += 1
            if type(expected) is not type(found) or expected != found:
                self.differs(where, "expected %r, found %r" % (expected, found))


def check_capture(folder, entry, report):
    name = entry["file"]
    with open(os.path.join(folder, name), "rb") as file:
        data = file.read()
    with open(os.path.join(folder, entry["expected"]), encoding="utf-8") as file:
        expected = json.load(file)
    if hashlib.sha256(data).hexdigest() != entry["sha256"] or len(data) != entry["bytes"]:
        report.differs(name, "the file is not the one of the index")
    if expected["capture"] != name:
        report.differs(entry["expected"], "is about %r" % expected["capture"])
    icrc = {True: 0, False: 0, None: 0}
    found = []
    for number, packet in enumerate(read_capture(data), 1):
        found.append(dict(number=number, **Packet(*packet).found))
        if "icrc" in found[-1]:
            icrc[found[-1]["icrc"]["right"]] += 1
    if len(found) != len(expected["packets"]):
        report.differs(name, "%d packets expected, %d found" % (len(expected["packets"]), len(found)))
    for want, have in zip(expected["packets"], found):
        want.pop("about", None)
        report.compare("%s, packet %d," % (name, have["number"]), want, have)
    roce = sum("bth" in packet for packet in found)
    counts = {"right": icrc[True], "wrong": icrc[False], "unknown": icrc[None]}
    report.compare(name, {k: entry[k] for k in ("packets", "roce", "icrc")},
                   {"packets": len(found), "roce": roce, "icrc": counts})
    report.captures += 1
    report.packets += len(found)
    report.roce += roce
    for key, count in icrc.items():
        report.icrc[key] += count


def main(arguments):
    folder = arguments[0] if arguments else os.path.dirname(os.path.abspath(__file__))
    try:
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
            index = json.load(file)
        captures = index["captures"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        print("check.py: no index of a corpus in %s: %s" % (folder, error), file=sys.stderr)
        return 2
    report = Report()
    for entry in captures:
        try:
            check_capture(folder, entry, report)
        except (OSError, ValueError, KeyError, IndexError, TypeError, struct.error) as error:
            report.differs(entry.get("file", "?"), "cannot be checked: %s" % error)
    print("corpus %s: %d captures, %d packets, %d of RoCEv2" % (
        index.get("version"), report.captures, report.packets, report.roce))
    print("ICRC: %d right, %d wrong, %d not captured" % (report.icrc[True], report.icrc[False], report.icrc[None]))
    print("%d values compared, %d differences" % (report.fields, report.differences))
    return 1 if report.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
