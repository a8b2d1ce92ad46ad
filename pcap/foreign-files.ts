/**
 * Files that are neither pcap nor pcapng but are given to a capture reader nevertheless, by their first four bytes.
 *
 * Owns the texts for them. Sources: RFC 1952 (gzip), RFC 8878 (zstd), the format descriptions of lz4, xz and bzip2, RFC
 * 1761 (snoop), and the magic numbers of wiretap's readers.
 */

/**
 * The kind of a file that begins with these four bytes, big-endian, as the end of a sentence; undefined when it is
 * unknown.
 */
export function foreignFile(first: number): string | undefined {
  return FOREIGN.find(([mask, value]) => (first & mask) >>> 0 === value)?.[2];
}

const COMPRESSED = 'decompress it first';
const CONVERT = 'convert it with "editcap -F pcapng"';
const FOREIGN: readonly (readonly [mask: number, value: number, what: string])[] = [
  [0xffff_0000, 0x1f8b_0000, `the file is compressed with gzip: ${COMPRESSED}`],
  [0xffff_ffff, 0x28b5_2ffd, `the file is compressed with zstd: ${COMPRESSED}`],
  [0xffff_ffff, 0x0422_4d18, `the file is compressed with lz4: ${COMPRESSED}`],
  [0xffff_ffff, 0xfd37_7a58, `the file is compressed with xz: ${COMPRESSED}`],
  [0xffff_ff00, 0x425a_6800, `the file is compressed with bzip2: ${COMPRESSED}`],
  [0xffff_ffff, 0x504b_0304, `the file is a zip archive: ${COMPRESSED}`],
  [0xffff_ffff, 0x736e_6f6f, `the file is a capture of snoop: ${CONVERT}`],
  [0xffff_ffff, 0x5452_534e, `the file is a capture of the Sniffer: ${CONVERT}`],
  [0xffff_ffff, 0x474d_4255, `the file is a capture of Network Monitor: ${CONVERT}`],
  [0xffff_ffff, 0x5254_5353, `the file is a capture of Network Monitor: ${CONVERT}`],
  [0xffff_ffff, 0x6970_7472, `the file is a trace of iptrace: ${CONVERT}`],
  [0xffff_ffff, 0x6274_736e, 'the file is a capture of Bluetooth (btsnoop)'],
];
