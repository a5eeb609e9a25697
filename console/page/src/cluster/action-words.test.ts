import { expect, test } from 'vitest';
import { type Action, actionVerbs } from '../../../rows/index.ts';
import { actionWords, commandLine, isOutcomeUnknown, wordsOfVerb } from './action-words.ts';
import { possibleVerbs } from './possible-verbs.ts';

test.each<{ action: Action; want: string }>([
  { action: { verb: 'cordon', target: 'edge-1' }, want: 'rollcall cordon edge-1' },
  { action: { verb: 'move', target: 'edge-1', set: 'shops' }, want: 'rollcall move edge-1 --to shops' },
  {
    action: { verb: 'deny', target: 'edge-1', reason: "it's not ours; $(reboot)" },
    want: `rollcall deny edge-1 --reason 'it'\\''s not ours; $(reboot)'`,
  },
  {
    action: { verb: 'approve', target: 'id-1', isId: true, replaceKey: '69a2-7c1e-0000-1111' },
    want: 'rollcall approve --id id-1 --replace-key 69a2-7c1e-0000-1111',
  },
])('the line that does the same: $want', ({ action, want }) => {
  expect(commandLine(action)).toBe(want);
});

test('what nobody answered in time is not refused', () => {
  const codes = ['DEADLINE_EXCEEDED', 'CONSOLE_AWAY', 'ACCEPT_FORBIDDEN', 'DECISION_CHANGED', 'REFUSED'];
  expect(codes.filter((code) => isOutcomeUnknown({ code }))).toEqual(['DEADLINE_EXCEEDED', 'CONSOLE_AWAY']);
});

test('every action says what will happen, and which event answers it', () => {
  expect(Object.keys(actionWords).toSorted()).toEqual([...actionVerbs].toSorted());
  for (const { will, answers } of Object.values(actionWords))
    expect([will.endsWith('.'), answers.length > 0]).toEqual([true, true]);
});

test('every hard action says in one line what happens and whether it can be taken back', () => {
  const hard = Object.values(actionWords).filter(({ isHard }) => isHard);
  expect(hard.map(({ label }) => label)).toEqual(['Deny', 'Revoke the key', 'Ban', 'Remove']);
  for (const { inShort } of [...hard, wordsOfVerb('deny', true)]) expect(inShort).toMatch(/back/);
  expect(wordsOfVerb('deny', true).inShort).not.toBe(actionWords.deny.inShort);
});

test.each([
  { phase: 'held', schedulable: true, want: ['approve', 'deny'] },
  {
    phase: 'ready',
    schedulable: true,
    want: ['cordon', 'move', 'rotate', 'deny', 'revoke', 'ban', 'unregister'],
  },
  {
    phase: 'ready',
    schedulable: false,
    want: ['uncordon', 'move', 'rotate', 'deny', 'revoke', 'ban', 'unregister'],
  },
  { phase: 'banned', schedulable: true, want: ['unban', 'unregister'] },
  { phase: 'left', schedulable: true, want: [] },
])('what makes sense with one that is $phase: $want', ({ want, ...cluster }) => {
  expect(possibleVerbs(cluster as Parameters<typeof possibleVerbs>[0])).toEqual(want);
});
