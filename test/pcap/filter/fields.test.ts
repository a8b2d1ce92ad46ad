/**
 * Goal: the fields that can be asked for are those that printers give, and each is of the kind that it is listed with.
 * Method: the record of packets of every kind is held against the list, and the list against the names in the sources
 * of the printers.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { IpAddress, parseMac } from '../../../packets/address.ts';
import { CmAttribute } from '../../../packets/cm/index.ts';
import { listMadFields } from '../../../packets/cm-fields.ts';
import { FieldList, type FieldValue } from '../../../packets/field-list.ts';
import { fastField, mayHave } from '../../../pcap/filter/fast-fields.ts';
import { compileFilter, fieldKind, fieldNames, subjectFields } from '../../../pcap/filter/index.ts';
import { completed, outlineOf } from './outlines.ts';
import { samples } from './samples.ts';

const SOURCES = ['frame-fields.ts', 'cm-fields.ts'].map((name) =>
  readFileSync(fileURLToPath(new URL(`../../../packets/${name}`, import.meta.url)), 'utf8'),
);

/** A record for each packet, and for each message of connection management. */
function records(): Record<string, FieldValue>[] {
  const messages = Object.values(CmAttribute).map((attribute) => {
    const view = new DataView(new ArrayBuffer(256));
    view.setUint32(0, 0x01_07_02_03);
    view.setUint16(16, attribute);
    const list = new FieldList();
    listMadFields(list, view, 0, 256);
    return list.toRecord();
  });
  return [...samples().map(subjectFields), ...messages];
}

const CHECKS: Readonly<Record<string, (value: FieldValue) => boolean>> = {
  number: (value) => typeof value === 'number' || /^\d{16,20}$/.test(value),
  text: (value) => typeof value === 'string',
  address: (value) => IpAddress.parse(String(value)).toString() === value,
  mac: (value) => parseMac(String(value)).length === 6,
  bytes: (value) => /^$|^[0-9a-f]{2}(:[0-9a-f]{2})*$/.test(String(value)),
  time: (value) => /^-?\d+\.\d{9}$/.test(String(value)),
};

describe('the fields that a filter knows', () => {
  it('have every field of every packet, of the kind that it is', () => {
    const wrong = new Set<string>();
    for (const record of records()) {
      for (const [name, value] of Object.entries(record)) {
        const kind = fieldKind(name);
        if (kind === undefined || CHECKS[kind]?.(value) !== true) wrong.add(`${name}: ${kind}, but ${value}`);
      }
    }
    expect([...wrong]).toEqual([]);
  });

  it('are in the sources of the printers, or in a packet', () => {
    const seen = new Set(records().flatMap((record) => Object.keys(record)));
    const orphans = fieldNames().filter(
      (name) =>
        fieldKind(name) !== undefined && !seen.has(name) && !SOURCES.some((source) => source.includes(`'${name}'`)),
    );
    const pairs = ['eth.addr', 'ip.addr', 'ipv6.addr', 'udp.port', 'tcp.port'];
    const paths = orphans.filter((name) => !/_(localgid|remotegid)(_ipv4)?$|ip_cm\.[sd]ip[46]$/.test(name));
    expect(paths).toEqual(pairs);
  });

  it('are never missed where they are', () => {
    for (const subject of samples().filter(({ packet }) => packet.number % 3 !== 1)) {
      for (const name of Object.keys(subjectFields(subject))) {
        const parts = name.split('.');
        const starts = parts.map((_, at) => parts.slice(0, at + 1).join('.'));
        for (const start of starts) expect(mayHave(start)(subject), start).toBe(true);
        expect(compileFilter(`${name}`)(subject), name).toBe(true);
      }
    }
  });

  it('are the same in the outline of a packet, where that has them', () => {
    const subjects = samples();
    const names = fieldNames().filter((name) => !compileFilter(name).needsPacket);
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) {
      const isThere = compileFilter(name);
      for (const subject of subjects) {
        const value = subjectFields(completed(subject))[name];
        const same = compileFilter(`${name} == ${typeof value === 'number' ? value : 0}`);
        expect(isThere(outlineOf(subject)), name).toBe(value !== undefined);
        expect(same(outlineOf(subject)), name).toBe(value !== undefined);
      }
    }
  });

  it('have the same numbers when they are read without the record', () => {
    const subjects = samples();
    const fields = subjects.map(subjectFields);
    for (const name of fieldNames().filter((known) => fastField(known) !== undefined)) {
      const isZero = compileFilter(`${name} == 0`);
      const isThere = compileFilter(name);
      const found = subjects.map((subject) => [isZero(subject), isThere(subject)]);
      expect(found, name).toEqual(fields.map((record) => [record[name] === 0, name in record]));
    }
  });
});
