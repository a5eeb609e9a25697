import { expect, test } from 'vitest';
import { createPhaseLine } from './phase-line.ts';

test.each([
  {
    name: 'waiting is part of approving',
    event: { phase: 'waiting', message: 'a person must decide', detail: { reason: 'NoRuleMatched' } },
    want: '[approve] waiting (NoRuleMatched): a person must decide',
  },
  {
    name: 'a refusal says its code, when the agent asks again, and what to do',
    event: {
      phase: 'refused',
      message: 'name "a" is taken',
      detail: { code: 'NAME_TAKEN', hint: 'Choose another.', retryInMs: 119_600 },
    },
    want: '[register] refused (NAME_TAKEN): name "a" is taken; trying again in 120 s\n[register] hint: Choose another.',
  },
  {
    name: 'what a hub says cannot move the cursor',
    event: { phase: 'connect', message: 'x\u001b[2J\ny', detail: {} },
    want: '[connect] x[2J y',
  },
] as const)('$name', ({ event, want }) => {
  expect(createPhaseLine()(event)).toBe(want);
});

test('what to do is said once for tries that follow each other', () => {
  const detail = { code: 'HUB_UNREACHABLE', hint: 'Check the address.' } as const;
  const trying = { phase: 'connect', message: 'no answer', detail } as const;
  const connected = { phase: 'connect', message: 'connected', detail: {} } as const;
  const lines = [trying, trying, connected, trying].map(createPhaseLine());
  expect(lines.map((line) => line.includes('hint:'))).toEqual([true, false, false, true]);
});
