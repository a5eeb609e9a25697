import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tokenRecord } from '@rollcall/shared/events';
import { kubeconfigYaml, resources } from '@rollcall/shared/kubernetes';
import { createCa, createRegistrationToken, spkiPin, tokenIdOf } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliOptions, startCli } from '../../cli/tests/run-cli.ts';
import { conditionOf, startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

let hub: TestEmbeddedHub;
const memberKubeconfig = () => join(hub.up.stateDir, 'member.kubeconfig');
beforeAll(async () => {
  hub = await startTestEmbeddedHub();
  writeFileSync(memberKubeconfig(), kubeconfigYaml(hub.up.plane.access), { mode: 0o600 });
});
afterAll(() => hub[Symbol.asyncDispose]());

/** `rollcall register --run` for a cluster of that client id; the hub's own API server is its member. */
function register(clientId: string, token: string, flags: readonly string[], options: CliOptions = {}) {
  const member = ['--member-kubeconfig', memberKubeconfig(), '--client-id', clientId];
  const name = ['--cluster-name', clientId, '--run', ...flags];
  return startCli(['register', hub.up.addresses[0] ?? '', ...name, ...member], {
    ...options,
    environment: { ROLLCALL_TOKEN: token, ...options.environment },
  });
}
const pin = () => ['--ca-cert-hash', hub.up.hub.caCertHash];

test('without a pin nothing is trusted; with the unsafe flag the first CA is, and it is said so', async () => {
  const { text } = await hub.createToken();
  await using without = register('no-pin', text, []);
  expect(await without.result).toMatchObject({ code: 2, stderr: expect.stringContaining('--ca-cert-hash') });
  await using both = register('both', text, [...pin(), '--insecure-trust-first-ca']);
  expect((await both.result).code).toBe(2);
  await using first = register('first-ca', text, ['--insecure-trust-first-ca']);
  const said = await first.line(/NOT verified/);
  expect(said).toContain(hub.up.hub.caCertHash);
  await first.line(/is Ready/);
});

test('a hub with another CA is refused before anything is asked', async () => {
  const { text, key } = await hub.createToken();
  const other = createCa({ commonName: 'other', validForDays: 1, nowMs: Date.now() });
  await using refused = register('other-ca', text, ['--ca-cert-hash', spkiPin(other.certificatePem)]);
  expect(await refused.result).toMatchObject({ code: 3, stderr: expect.stringContaining('HUB_CA_WRONG') });
  const token = tokenRecord(await hub.log.read({ kind: 'token', id: tokenIdOf(key.publicKey) }));
  expect(token.uses).toBeUndefined();
});

/** It has the right certificate, knows the token's public key and lets the agent in: all but the reply key. */
test('a hub that is not the one in the token is not believed, whatever it answers', async () => {
  const token = createRegistrationToken('AAAAAAAAAAAAAAAA');
  const { publicKey } = token.key;
  await hub.up.admin.create(
    resources.clusterRegistrationTokens,
    {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'ClusterRegistrationToken',
      metadata: { name: 'of-another-hub', namespace: 'rollcall-join' },
      spec: { publicKey },
    },
    { namespace: 'rollcall-join' },
  );
  await until('the token is declared', async () => {
    const record = await hub.log.read({ kind: 'token', id: tokenIdOf(publicKey) });
    return tokenRecord(record).declaration;
  });
  await using agent = register('wrong-hub', token.text, pin());
  expect(await agent.result).toMatchObject({ code: 3, stderr: expect.stringContaining('HUB_WRONG') });
  expect((await hub.log.read({ kind: 'token', id: tokenIdOf(publicKey) })).lastOf.registrar).toBeUndefined();
});

test.each([
  { name: 'an hour slow', offMs: -3_600_000, want: /(3595|3600) s behind the hub's$/ },
  { name: 'ten years fast', offMs: 315_576_000_000, want: /(315575995|315576000) s ahead of the hub's$/ },
])(
  'an agent whose clock is $name gets in, and is told, as is the hub; set right, it is that again [OC-4]',
  async ({ name, offMs, want }) => {
    const clientId = name.replaceAll(' ', '-');
    const { text } = await hub.createToken();
    const shim = `const now=Date.now;Date.now=()=>now()+(${offMs});`;
    const environment = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(shim)}` };
    const directory = mkdtempSync(join(hub.up.stateDir, 'agent-'));
    await using agent = register(clientId, text, pin(), { environment, directory });
    expect(await agent.line(/CLOCK_SKEW/)).toContain('the time of the hub');
    await agent.line(/is Ready/);
    await hub.untilReady(clientId);
    const clock = await until('the hub shows its clock', async () => {
      const condition = conditionOf(await hub.cluster(clientId), 'ClockSynced');
      return condition?.status === 'False' && condition;
    });
    expect(clock).toMatchObject({ reason: 'ClockOff', message: expect.stringMatching(want) });
    agent.child.kill('SIGTERM');
    await agent.result;
    await using right = register(clientId, text, pin(), { directory });
    await right.line(/is Ready/);
    await until('the hub shows that its clock is right', async () => {
      return conditionOf(await hub.cluster(clientId), 'ClockSynced')?.status === 'True';
    });
  },
);
