import { expect, test } from 'vitest';
import { factSettingsOf } from './fact-flags.ts';

test('flags count more than the environment, and an empty variable says nothing', () => {
  const environment = {
    ROLLCALL_PROVIDER: 'metal',
    ROLLCALL_REGION: '',
    ROLLCALL_POD_CIDRS: '10.0.0.0/16, fd00::/48',
    ROLLCALL_SERVICE_CIDRS: '10.1.0.0/16',
    ROLLCALL_NODE_LABEL_THRESHOLD: '100',
  };
  expect(factSettingsOf({ provider: 'kind', nodeLabelThreshold: '0' }, environment)).toEqual({
    provider: 'kind',
    region: undefined,
    podCIDRs: ['10.0.0.0/16', 'fd00::/48'],
    serviceCIDRs: ['10.1.0.0/16'],
    nodeLabelThresholdPercent: 0,
  });
});

test.each([
  { flags: { podCidrs: '10.0.0.0' }, want: '--pod-cidrs "10.0.0.0" is no range' },
  { flags: { serviceCidrs: '10.0.0.0/8,x' }, want: '--service-cidrs "x" is no range' },
  {
    flags: { podCidrs: Array.from({ length: 17 }, (_, n) => `10.${n}.0.0/16`).join(',') },
    want: 'more than 16',
  },
  { flags: { region: 'x'.repeat(65) }, want: 'longer than 64' },
  { flags: { nodeLabelThreshold: '50' }, want: '"50" is neither 0 nor' },
  { flags: { nodeLabelThreshold: '101' }, want: '"101" is neither 0 nor' },
  { flags: { nodeLabelThreshold: '80%' }, want: '"80%" is neither 0 nor' },
])('$flags → $want', ({ flags, want }) => {
  expect(() => factSettingsOf(flags, {})).toThrow(want);
});
