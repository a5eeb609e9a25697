import type { KubeClient } from '@rollcall/shared/kubernetes';
import { expect, test } from 'vitest';
import { readPages } from './read-pages.ts';

/** An API server that gives these answers, one after the other. */
function answering(...bodies: readonly string[]) {
  const asked: string[] = [];
  const rest = bodies.values();
  const raw = async (path: string) => {
    asked.push(path);
    return { status: 200, body: rest.next().value ?? '' };
  };
  return { client: { raw } as unknown as KubeClient, asked };
}
const how = { accept: 'application/json', selector: '&labelSelector=a' };

test('a list is read to its end', async () => {
  const pages = [{ metadata: { continue: 'a b' } }, { metadata: { continue: '' } }];
  const { client, asked } = answering(...pages.map((page) => JSON.stringify(page)));
  expect(await readPages(client, '/list', how)).toEqual(pages);
  expect(asked).toEqual([
    '/list?limit=500&labelSelector=a',
    '/list?limit=500&labelSelector=a&continue=a%20b',
  ]);
});

test('what answers and is no API server is said to be none, without its words', async () => {
  const { client } = answering('<html>words of a proxy</html>');
  const error = await readPages(client, '/list', how).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'KUBE_UNREACHABLE' });
  expect(String(error)).not.toContain('words');
});
