import { expect, test } from 'vitest';
import type { RotatedKey, Rotation } from '../up/state/hub-state.ts';
import { rotationStep } from './rotation-step.ts';

const hourMs = 3_600_000;
const atMs = 1_700_000_000_000;

test.each<{ key: RotatedKey; stage: Rotation['stage'] | undefined; want: [string, number] }>([
  { key: 'signing-keys', stage: undefined, want: ['announce', 0] },
  // Stopped in the middle: what was announced is there already.
  { key: 'signing-keys', stage: 'announced', want: ['switch', 0] },
  { key: 'signing-keys', stage: 'switched', want: ['drop', atMs + 25 * hourMs] },
  { key: 'service-keys', stage: undefined, want: ['announce', 0] },
  { key: 'service-keys', stage: 'switched', want: ['drop', 0] },
  { key: 'ca', stage: undefined, want: ['announce', 0] },
  { key: 'ca', stage: 'announced', want: ['switch', atMs + 25 * hourMs] },
  // Stopped in the middle: the hub has to take what stands in the files.
  { key: 'ca', stage: 'switched', want: ['drop', 0] },
  { key: 'reply-key', stage: undefined, want: ['switch', 0] },
  { key: 'operator-keys', stage: undefined, want: ['switch', 0] },
  { key: 'operator-keys', stage: 'announced', want: ['switch', 0] },
  { key: 'operator-keys', stage: 'switched', want: ['drop', 0] },
])('$key, $stage → $want', ({ key, stage, want }) => {
  const step = rotationStep(key, stage && { stage, atMs });
  expect([step.kind, step.dueAtMs]).toEqual(want);
});

test.each([
  { name: 'credentials that live longer', longestLifeMs: 72 * hourMs, want: 73 * hourMs },
  {
    name: 'credentials that live shorter: others may have been issued before that was set',
    longestLifeMs: hourMs,
    want: 25 * hourMs,
  },
])('a step that waits for all agents to renew waits for $name', ({ longestLifeMs, want }) => {
  for (const [key, stage] of [
    ['signing-keys', 'switched'],
    ['ca', 'announced'],
  ] as const)
    expect(rotationStep(key, { stage, atMs, longestLifeMs }).dueAtMs).toBe(atMs + want);
});

test.each([
  { name: 'is in force', lives: [{ lifeMs: 72 * hourMs }], want: 73 * hourMs },
  {
    name: 'was lowered before it began, until the last of before has ended',
    lives: [{ lifeMs: 72 * hourMs, endsAtMs: atMs + 50 * hourMs }, { lifeMs: 6 * hourMs }],
    want: 51 * hourMs,
  },
  {
    name: 'was lowered after it began: what is issued since is by the next keys',
    lives: [{ lifeMs: 72 * hourMs, endsAtMs: atMs + 100 * hourMs }, { lifeMs: 6 * hourMs }],
    want: 73 * hourMs,
  },
  { name: 'is shorter than usual', lives: [{ lifeMs: hourMs }], want: 25 * hourMs },
])('a step waits for the longest life that $name', ({ lives, want }) => {
  for (const [key, stage] of [
    ['signing-keys', 'switched'],
    ['ca', 'announced'],
  ] as const)
    expect(rotationStep(key, { stage, atMs }, lives).dueAtMs).toBe(atMs + want);
});
