/** Extended headers as bytes, for frames by hand. Owns nothing but the buffers it fills. */
import { AETH_BYTES, DETH_BYTES, RETH_BYTES, writeAeth, writeDeth, writeReth } from 'rocev2/packets';

/** An AETH. */
export function aeth(syndrome: number, msn: number): Uint8Array {
  const bytes = new Uint8Array(AETH_BYTES);
  writeAeth(new DataView(bytes.buffer), 0, syndrome, msn);
  return bytes;
}

/** A RETH. */
export function reth(va: bigint, rkey: number, dmaLength: number): Uint8Array {
  const bytes = new Uint8Array(RETH_BYTES);
  const [high, low] = [Number(va >> 32n), Number(va & 0xffff_ffffn)];
  writeReth(new DataView(bytes.buffer), 0, high, low, rkey, dmaLength);
  return bytes;
}

/** A DETH. */
export function deth(qkey: number, sourceQpn: number): Uint8Array {
  const bytes = new Uint8Array(DETH_BYTES);
  writeDeth(new DataView(bytes.buffer), 0, qkey, sourceQpn);
  return bytes;
}
