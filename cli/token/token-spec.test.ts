import { expect, test } from 'vitest';
import { termsText, tokenTerms } from './token-spec.ts';

const usual = { ttl: '24h', uses: '1' };

test('what nobody says is not in the spec', () => {
  expect(tokenTerms(usual)).toEqual({ ttl: '24h', uses: 1 });
});

test('everything that can be said', () => {
  const flags = {
    ttl: '7d',
    uses: 'unlimited',
    clusterName: 'edge-*',
    clientId: 'shop 7',
    labels: 'region=eu,env=prod',
    allowLabels: 'team, site.*',
    clusterSet: 'shops',
    description: 'for the rollout',
  };
  expect(tokenTerms(flags)).toEqual({
    ...flags,
    labels: { region: 'eu', env: 'prod' },
    allowLabels: ['team', 'site.*'],
  });
});

test.each([
  { uses: '0', want: '--uses "0" is neither' },
  { uses: '-1', want: '--uses "-1" is neither' },
  { uses: 'many', want: '--uses "many" is neither' },
  { ttl: '0s', want: '--ttl "0s" is over at once' },
  { ttl: '-1h', want: '--ttl "-1h" is no duration' },
  { ttl: '1 day', want: '--ttl "1 day" is no duration' },
  { ttl: '', want: '--ttl "" is no duration' },
  { labels: 'region', want: 'label "region" is not of the form key=value' },
])('$want', ({ want, ...flags }) => {
  expect(() => tokenTerms({ ...usual, ...flags })).toThrow(want);
});

test.each([
  { flags: {}, expires: undefined, want: 'one cluster, for 24h' },
  { flags: { uses: '3', clusterName: 'a' }, expires: 'T', want: '3 clusters named "a", until T' },
  {
    flags: { uses: 'unlimited', clientId: 'shop-7' },
    expires: 'never',
    want: 'any number of clusters with client id "shop-7", for ever',
  },
])('$want', ({ flags, expires, want }) => {
  expect(termsText(tokenTerms({ ...usual, ...flags }), expires)).toBe(want);
});
