import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mostRevocations } from '@rollcall/shared/rights';
import { createNkey, encodeJwt } from '@rollcall/shared/trust';
import { expect, onTestFinished, test } from 'vitest';
import { fingerprintsOut, revocationsIn, revocationsOf, unionOf } from './revocations-of.ts';

const operator = createNkey('operator');
const [a, b, c] = [createNkey('user').publicKey, createNkey('user').publicKey, createNkey('user').publicKey];
const claims = (revocations: unknown) =>
  encodeJwt({ subject: 'A', nowMs: 1000, nats: { revocations } }, operator);

test('who is on any of the lists is out, until the later time', () => {
  expect(unionOf([{ [a]: 5, [b]: 7 }, { [b]: 6, [c]: 9 }, {}])).toEqual({ [a]: 5, [b]: 7, [c]: 9 });
});

test('a union has no more keys than the servers take, and the last that were taken back stay', () => {
  const list = (from: number) =>
    Object.fromEntries(Array.from({ length: mostRevocations }, (_, at) => [`K${from + at}`, from + at]));
  const union = unionOf([list(0), list(mostRevocations)]);
  expect(Object.keys(union)).toHaveLength(mostRevocations);
  expect(Math.min(...Object.values(union))).toBe(mostRevocations);
});

test('a full list fits the event that carries it: stream EVENTS takes 256 KiB', () => {
  const userKey = (at: number) =>
    `U${String(at)
      .padStart(55, 'A')
      .replaceAll(/[0189]/g, (digit) => 'BCDE'['0189'.indexOf(digit)] ?? '')}`;
  const list = Object.fromEntries(Array.from({ length: 3 * mostRevocations }, (_, at) => [userKey(at), at]));
  const hub = { keys: { agents: 'AGENTS' }, accountJwts: { AGENTS: claims(list) } };
  const out = fingerprintsOut('/nowhere', hub as unknown as Parameters<typeof fingerprintsOut>[1]);
  expect(out).toHaveLength(mostRevocations);
  expect(JSON.stringify(out).length).toBeLessThan(250_000);
});

test('each server of the directory is asked; what is none of ours is no list', () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-state-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  expect(revocationsIn(stateDir, 'AGENTS')).toEqual({});
  for (const [name, key] of [
    ['nats', a],
    ['nats-3', b],
    ['before-restore-x', c],
  ] as const) {
    mkdirSync(join(stateDir, name, 'jwt'), { recursive: true });
    writeFileSync(join(stateDir, name, 'jwt', 'AGENTS.jwt'), claims({ [key]: 5 }));
    writeFileSync(join(stateDir, name, 'jwt', 'OTHER.jwt'), claims({ [c]: 5 }));
  }
  expect(revocationsIn(stateDir, 'AGENTS')).toEqual({ [a]: 5, [b]: 5 });
  for (const wrong of ['', 'no claims', claims(undefined), claims([1]), claims({ [a]: 'x', rest: 5 })])
    expect(revocationsOf(wrong)).toEqual({});
});
