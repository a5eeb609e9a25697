import { expect, test } from 'vitest';
import { createTransport } from './transport.ts';

/** Nobody is asked: what is wrong with them is found before. */
function ask(credentials: { token?: string; certPem?: string; keyPem?: string }) {
  const names = { namespace: 'default', clusterName: 'hub', contextName: 'hub', userName: 'alice' };
  const transport = createTransport({ server: 'https://127.0.0.1:1', ...names, ...credentials }, 'test');
  return transport
    .send({ method: 'GET', path: '/version', timeoutMs: 1000 })
    .finally(() => transport.close());
}

test.each([
  { what: 'a certificate that is none', credentials: { certPem: 'secret', keyPem: 'secret' } },
  { what: 'a token with a line end in it', credentials: { token: 'secret\ntoken' } },
])('who has $what is told so, and not that this is a bug', async ({ credentials }) => {
  const error = await ask(credentials).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'KUBECONFIG_INVALID', message: expect.stringContaining('"alice"') });
  expect(String(error)).not.toContain('secret');
});
