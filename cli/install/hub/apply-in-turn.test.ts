import { expect, test } from 'vitest';
import { turnOf } from './apply-in-turn.ts';
import { hubObjects } from './hub-objects.ts';
import { hubValuesSchema } from './hub-values.ts';

const values = hubValuesSchema.parse({
  forward: { secret: 'sink' },
  console: { host: 'console.example.org', tlsSecret: 'tls' },
});
const objects = hubObjects(values);
const turnsOf = (kind: string, name?: string) =>
  new Set(
    objects
      .filter((one) => one.kind === kind && (name === undefined || one.metadata.name === name))
      .map(turnOf),
  );

test('the servers come before everything else that runs, and nothing else with them', () => {
  const servers = turnsOf('StatefulSet', 'rollcall-nats');
  expect(objects.filter((one) => servers.has(turnOf(one))).map(({ metadata }) => metadata.name)).toEqual([
    'rollcall-nats',
  ]);
  const [ofServers = 0] = servers;
  const [ofServices = 0] = turnsOf('Deployment');
  expect(turnsOf('StatefulSet', 'rollcall-forward')).toEqual(new Set([ofServices]));
  expect(ofServices).toBeGreaterThan(ofServers);
  expect(Math.max(...turnsOf('ServiceAccount'), ...turnsOf('ValidatingAdmissionPolicy'))).toBeLessThan(
    ofServers,
  );
});
