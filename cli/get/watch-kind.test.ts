import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { type KubeClient, resources } from '@rollcall/shared/kubernetes';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { watchKind } from './watch-kind.ts';

const signals = ['SIGTERM', 'SIGINT'] as const;
let before: readonly (readonly NodeJS.SignalsListener[])[];
let said: string;
const write = process.stderr.write;
beforeEach(() => {
  said = '';
  process.stderr.write = (text: string | Uint8Array) => {
    said += String(text);
    return true;
  };
  before = signals.map((signal) => process.listeners(signal));
});
/** A watch ends with its process, and takes back nothing itself. */
afterEach(() => {
  process.stderr.write = write;
  for (const [index, signal] of signals.entries())
    for (const listener of process.listeners(signal))
      if (!before[index]?.includes(listener)) process.off(signal, listener);
});

/** An empty list, and these answers to a watch of it. */
function watch(...answers: readonly { statusCode: number; body: string }[]): Promise<void> {
  const rest = answers.values();
  const client = {
    raw: async () => ({ status: 200, body: '{"metadata":{"resourceVersion":"1"},"items":[]}' }),
    async openStream() {
      const { statusCode = 0, body = '' } = rest.next().value ?? {};
      return Object.assign(Readable.from([Buffer.from(body)]), { statusCode }) as unknown as IncomingMessage;
    },
  } as unknown as KubeClient;
  const resource = resources.managedClusters;
  const how = { name: undefined, output: 'json', withNamespace: false, selector: '' } as const;
  return watchKind(client, { resource, path: '/list', ...how });
}

const forbidden = { kind: 'Status', code: 403, message: 'alice may list them and not watch them' };
const refusal = { statusCode: 403, body: JSON.stringify(forbidden) };

test('why a watch is refused is said in the words of the API server', async () => {
  await expect(watch(refusal)).rejects.toThrow(forbidden.message);
});

test('a watch that ends without a word is one that broke, and is not begun again at once', async () => {
  await expect(watch({ statusCode: 200, body: '' }, refusal)).rejects.toThrow('watch /list');
  expect(said).toContain('the watch broke');
});
