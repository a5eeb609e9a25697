import { expect, test } from 'vitest';
import { reportOf, type RunRecord } from './report.ts';
import { reportText } from './report-text.ts';

const usage = { processes: [{ name: 'services', cpuMs: 1000, residentBytes: 2 ** 20 }], apiWrites: 10 };

function aRun(more: Partial<RunRecord> = {}): RunRecord {
  return {
    scenario: 'outage',
    seed: 7,
    clusters: 4,
    startedAtMs: 0,
    beganAtMs: 10_000,
    endedAtMs: 50_000,
    madeUp: { count: 3, tookMs: 1500 },
    askedAtMs: new Map([['sim-4', 1000]]),
    troubles: {},
    heartbeats: 500,
    absences: [],
    stalls: [],
    events: [{ clusterId: 'sim-4', type: 'joined', atMs: 1200 }],
    outages: [],
    leavings: { begun: 0, ended: 0 },
    usage: {
      before: usage,
      after: { processes: [{ name: 'services', cpuMs: 6000, residentBytes: 2 ** 21 }], apiWrites: 25 },
    },
    intervalMs: 5000,
    ...more,
  };
}
const away = { clusterId: 'sim-1', fromMs: 20_000, untilMs: 30_000 };

test('a quiet run', () => {
  const report = reportOf(aRun());
  expect(report).toMatchObject({
    joins: { count: 1, ms: { p50: 200 } },
    heartbeats: { perSecond: 10 },
    silenced: 0,
    wronged: 0,
    apiWrites: 15,
    processes: [{ name: 'services', cpuShare: 0.1, residentMiB: 2 }],
  });
  expect(reportText(report)).toContain('Nobody was silent, and nobody was told to be.');
});

test('joins are told apart by whether clusters were leaving', () => {
  const report = reportOf(
    aRun({
      askedAtMs: new Map([
        ['sim-4', 1000],
        ['sim-5', 20_000],
      ]),
      events: [
        { clusterId: 'sim-4', type: 'joined', atMs: 1200 },
        { clusterId: 'sim-5', type: 'joined', atMs: 20_500 },
      ],
      leavingFromMs: 20_000,
      leavings: { begun: 3, ended: 1 },
    }),
  );
  expect(report).toMatchObject({
    joins: { count: 1, ms: { p99: 200 } },
    joinsWhileLeaving: { count: 1, ms: { p99: 500 } },
    leavings: { begun: 3, ended: 1 },
  });
  expect(reportText(report)).toContain('2.5 times the p99 of before');
});

const toldSilent = (atMs: number) =>
  reportOf(aRun({ absences: [away], events: [{ clusterId: 'sim-1', type: 'suspect', atMs }] }));

test.each([
  { name: 'while it was away', atMs: 27_000 },
  { name: 'a moment after it came back, before its next heartbeat', atMs: 34_000 },
])('told silent $name: found', ({ atMs }) => {
  const report = toldSilent(atMs);
  expect(report.wronged).toBe(0);
  expect(report.detection.suspect).toMatchObject({ clusters: 1, ms: { p50: atMs - 20_000 } });
});

test.each([
  { name: 'before it went', atMs: 19_999 },
  { name: 'long after it was back', atMs: 40_000 },
])('told silent $name: wronged', ({ atMs }) => {
  expect(toldSilent(atMs)).toMatchObject({ wronged: 1, detection: {} });
  expect(reportText(toldSilent(atMs))).toContain(
    '1 clusters were told silent although they sent heartbeats.',
  );
});

test('who sent nothing because the machine of the run was too busy is not wronged, and said to be stalled', () => {
  const stalls = [
    { clusterId: 'sim-1', fromMs: 20_000, untilMs: 31_000 },
    { clusterId: 'sim-2', fromMs: 20_000, untilMs: 29_000 },
  ];
  const report = reportOf(aRun({ stalls, events: [{ clusterId: 'sim-1', type: 'suspect', atMs: 30_000 }] }));
  expect(report).toMatchObject({
    wronged: 0,
    silenced: 0,
    stalled: { clusters: 2, longestMs: 11_000, toldSilent: 1 },
  });
  expect(reportText(report)).toContain(
    '2 clusters sent no heartbeat for up to 11.0 s, because this machine was too busy; 1 of them were told silent, rightly',
  );
});

test('an outage that held everybody says what it was for', () => {
  const outages = [
    { change: 'begins', atMs: 25_000, message: '3 of 4 clusters went silent together' },
    { change: 'ends', atMs: 32_000, message: 'over' },
    { change: 'begins', atMs: 45_000, message: 'again' },
  ] as const;
  const report = reportOf(aRun({ absences: [away], outages }));
  expect(report.outages).toEqual([
    { afterSeconds: 15, heldSeconds: 7, message: '3 of 4 clusters went silent together' },
    { afterSeconds: 35, message: 'again' },
  ]);
  expect(reportText(report)).toContain('none of them was declared unreachable: the outage guard held it');
});

test('without an outage, who died is counted', () => {
  const events = [{ clusterId: 'sim-1', type: 'unreachable', atMs: 29_000 }];
  expect(reportText(reportOf(aRun({ absences: [away], events })))).toContain(
    '1 clusters fell silent, 1 times one was declared unreachable',
  );
});
