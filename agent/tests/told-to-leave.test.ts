import type { ReplyResult } from '@rollcall/shared/protocol';
import { createNkey, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startStolenHub, type StolenHub } from './stolen-registrar.ts';

let stolen: StolenHub;
beforeAll(async () => {
  stolen = await startStolenHub();
});
afterAll(() => stolen[Symbol.asyncDispose]());

const about = (clusterId: string) => ({ clusterId, reason: 'Leaving', message: 'it leaves' });
const answers: readonly { name: string; says(clusterId: string): ReplyResult }[] = [
  { name: 'that it leaves', says: (clusterId) => ({ kind: 'leave', ...about(clusterId) }) },
  {
    name: 'that it has left',
    says: () => ({ kind: 'refused', code: 'CLUSTER_LEFT', message: 'm', hint: 'h', retryAfterMs: 0 }),
  },
];

test.each(answers)(
  'no answer alone has a member leave, whatever becomes of its connections: one $name',
  async ({ name, says }) => {
    const clusterId = name.replaceAll(' ', '-');
    await using member = await stolen.aMember(clusterId);
    const { seed } = await member.kept();
    const before = member.heard.events.length;
    await member.hears({ result: says(clusterId) });

    // Credentials that no server takes do not count as the hub’s word that it is out.
    const { member: now } = await member.kept();
    const { clusterName = '', namespace = '', heartbeatIntervalMs = 0 } = now ?? {};
    const forged = encodeJwt(
      { subject: nkeyFromSeed(seed).publicKey, name: clusterId, nowMs: Date.now() + 60_000, nats: {} },
      createNkey('account'),
    );
    const expiresAtMs = Date.now() + 3_600_000;
    const admitted = { kind: 'admitted', clusterId, clusterName, namespace, expiresAtMs } as const;
    await member.hears({
      result: {
        ...admitted,
        credentials: forged,
        renewAfterMs: 3_000_000,
        heartbeatIntervalMs: heartbeatIntervalMs + 1000,
      },
    });
    expect((await member.kept()).member?.jwt).toBe(forged);
    await member.hears({ result: says(clusterId) });
    await stolen.hub.natsServer.kill();
    await stolen.hub.natsServer.restart();
    await member.heard.next(({ phase, message }) => phase === 'connect' && message.includes('member'));
    await member.hears({ result: says(clusterId) });
    expect((await member.kept()).seed).toBe(seed);
    expect(member.heard.events.slice(before).map(({ phase }) => phase)).not.toContain('leave');
  },
);
