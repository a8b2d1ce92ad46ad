"""Numbers and addresses in big-endian bytes."""
import ipaddress


def u16(data, at):
    return data[at] << 8 | data[at + 1]


def u24(data, at):
    return data[at] << 16 | u16(data, at + 1)


def u32(data, at):
    return u16(data, at) << 16 | u16(data, at + 2)


def hex64(data, at):
    return "0x" + data[at:at + 8].hex()


def bits(data, first, width):
    last = first + width
    stop = (last + 7) // 8
    return int.from_bytes(data[first // 8:stop], "big") >> (8 * stop - last) & (1 << width) - 1


def ones_sum(header):
    total = sum(u16(header, at) for at in range(0, len(header), 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def address(data):
    return str(ipaddress.ip_address(bytes(data)))
