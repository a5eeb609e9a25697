import { expect, test } from 'vitest';
import { failureWords } from './failure-words.ts';
import { tryMember } from './try-member.ts';

const hosting = { clusterId: 'edge', clientId: 'edge' };
const answers: Readonly<Record<string, object>> = {
  '/version': { gitVersion: 'v1.33.1' },
  '/api/v1/namespaces/kube-system': { metadata: { uid: 'uid-1' } },
  '/api/v1/nodes?limit=1': { items: [] },
};
const memberWith = (other: { path?: string; status?: number; body?: string } = {}) => ({
  raw: async (path: string) =>
    path === other.path
      ? { status: other.status ?? 200, body: other.body ?? '' }
      : { status: 200, body: JSON.stringify(answers[path]) },
});

test('a member that answers is one', async () => {
  await expect(tryMember(memberWith(), hosting)).resolves.toBeUndefined();
});

test.each([
  { what: 'a page of a proxy', status: 404, body: '<html>' },
  { what: 'no JSON', status: 200, body: 'ok' },
  { what: 'nothing', status: 200, body: 'null' },
])('who answers at once with $what is not said to be slow alone', async ({ status, body }) => {
  const words = await tryMember(memberWith({ path: '/version', status, body }), hosting).catch(failureWords);
  expect(words).toMatchObject({
    reason: 'MemberUnreachable',
    message: expect.stringContaining('not as an API server does'),
  });
});
