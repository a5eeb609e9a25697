import { expect, test } from 'vitest';
import { finding } from './finding.ts';
import { asText, type VerifyReport } from './verify.ts';

const aReport = (change: Partial<VerifyReport> = {}): VerifyReport => ({
  epoch: 2,
  events: 40,
  lastSequence: 50,
  archived: 0,
  witnesses: 7,
  compared: { clusters: 3, requests: 2, tokens: 1, policies: 4, sets: 2 },
  findings: [],
  ...change,
});

test('where nothing is found, what was looked at is counted', () => {
  expect(asText(aReport())).toBe(
    '40 events of epoch 2 and before; objects compared: clusters 3, requests 2, tokens 1, policies 4, sets 2; 7 of them name an event: the chain is whole, every witness true, and Kubernetes shows what the events say',
  );
  expect(asText(aReport({ archived: 10 }))).toContain(', 10 more in archives (--archive FILE reads them);');
});

test('findings stand together by their kind, each kind with how many there are and one hint', () => {
  const found = [
    finding('EventsMissing', 'event 3', 'it is gone'),
    finding('ProjectionDiffers', 'cluster a', 'one\u001b[2J'),
    finding('EventsMissing', 'event 9', 'it is gone, too'),
    finding('ProjectionDiffers', 'cluster b', 'two'),
    finding('EventsMissing', 'event 11', 'as well'),
  ];
  const text = asText(aReport({ findings: found }));
  expect(text).not.toContain('\u001b');
  const [first = '', ...lines] = text.split('\n');
  expect(first).toMatch(/: 5 finding\(s\): EventsMissing 3, ProjectionDiffers 2$/);
  expect(first).not.toContain('the chain is whole');
  const { hint: missing = '' } = found[0] ?? {};
  const { hint: differs = '' } = found[1] ?? {};
  expect(lines).toEqual([
    'EventsMissing  event 3: it is gone',
    'EventsMissing  event 9: it is gone, too',
    'EventsMissing  event 11: as well',
    `    ${missing}`,
    expect.stringMatching(/^ProjectionDiffers {2}cluster a: one/),
    'ProjectionDiffers  cluster b: two',
    `    ${differs}`,
  ]);
});
