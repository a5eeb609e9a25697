import { expect, test } from 'vitest';
import { applyManifests } from './apply-manifests.ts';
import { parsedBody } from './client.ts';
import type { KubeClient } from './kube-client.ts';

test('objects are read', () => {
  expect(parsedBody('{"kind":"Node"}', 'GET /it')).toEqual({ kind: 'Node' });
});

test.each(['null', '"text"', '1', '[]', 'words of a member', ''])('an answer of %s is none', (body) => {
  const read = () => parsedBody(body, 'GET /it');
  expect(read).toThrow(expect.objectContaining({ code: 'KUBE_UNREACHABLE' }));
  expect(read).not.toThrow(/words/);
});

test('a member that answers with nothing is no bug of whoever installs an agent there', async () => {
  const answer = async () => parsedBody('null', 'GET /it');
  const client = { get: answer, apply: answer, access: { namespace: 'default' } } as unknown as KubeClient;
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'rollcall-agent' } };
  await expect(applyManifests(client, [object])).rejects.toMatchObject({ code: 'KUBE_UNREACHABLE' });
});
