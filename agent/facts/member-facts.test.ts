import { expect, onTestFinished, test } from 'vitest';
import { followMember } from './member-facts.ts';

/** What is read of a member that answers GETs like this and shows nothing else. */
async function factsOf(answers: Readonly<Record<string, unknown>>) {
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const member = {
    server: 'https://member:6443',
    caPem: undefined,
    async get(path: string) {
      const answer = answers[path.split('?')[0] ?? ''];
      return { status: answer === undefined ? 404 : 200, body: JSON.stringify(answer) };
    },
    watch: async () => undefined,
  };
  const options = { agentVersion: '0', settings: {}, lookAgainMs: 60_000, signal: ending.signal };
  return followMember(member, options).read();
}
const path = '/apis/networking.k8s.io/v1/servicecidrs';

test('the ranges of its services are told, of both families', async () => {
  const items = [{ spec: { cidrs: ['10.96.0.0/12', 'fd00::/108'] } }, { spec: { cidrs: ['10.112.0.0/12'] } }];
  expect((await factsOf({ [path]: { items } })).serviceCIDRs).toEqual(['10.96.0.0/11', 'fd00::/108']);
});

test.each([
  {
    what: 'more ranges than were asked for',
    lists: Array.from({ length: 40 }, (_, at) => [`10.${200 - at * 2}.0.0/16`]),
  },
  {
    what: 'more ranges in one than there are families',
    lists: [['10.200.0.0/16', '10.202.0.0/16', '10.1.0.0/16']],
  },
])('a member that says $what does not have us reckon with all of them', async ({ lists }) => {
  const items = lists.map((cidrs) => ({ spec: { cidrs } }));
  const { serviceCIDRs = [] } = await factsOf({ [path]: { items } });
  expect(serviceCIDRs.length).toBe(Math.min(16, lists.length * 2));
  expect(serviceCIDRs).toContain('10.200.0.0/16');
});

test.each([
  null,
  [],
  { items: null },
  { items: [null, { spec: null }, { spec: { cidrs: 'x' } }, { spec: { cidrs: [5] } }] },
])('ranges that are none: %j', async (answer) => {
  expect(await factsOf({ [path]: answer })).not.toHaveProperty('serviceCIDRs');
});
