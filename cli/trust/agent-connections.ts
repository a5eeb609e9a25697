import { connectBus } from '@rollcall/shared/bus';
import { decodeJwt } from '@rollcall/shared/trust';
import { z } from 'zod';
import type { HubFiles } from './hub-files.ts';

/** Agents that are connected now, by what their credentials say. */
export interface AgentConnections {
  /** By the public key that signed the credentials. */
  readonly bySigner: Readonly<Record<string, number>>;
  /** Of those with credentials of their own: issued since that time, so that they heard what was announced by then. */
  issuedSince(atMs: number): number;
  readonly withCredentials: number;
}

const pageSize = 1024;
const answerWithinMs = 5000;
/** All servers have answered when none has for this long. */
const stallMs = 300;

const page = z.looseObject({
  data: z.looseObject({
    total: z.int(),
    connections: z
      .array(z.looseObject({ issuer_key: z.string().optional(), jwt: z.string().optional() }))
      .nullish(),
  }),
});

/** Asks every server who is connected, as the system user that the state directory has. */
export async function agentConnections(files: HubFiles): Promise<AgentConnections> {
  const { sys, hubKeys } = files.read('trust-keeper');
  const nc = await connectBus(files.address, sys, 'trust-keeper');
  const bySigner: Record<string, number> = {};
  const issuedAtMs: number[] = [];
  try {
    for (let offset = 0, total = 1; offset < total; offset += pageSize) {
      const body = JSON.stringify({ auth: true, acc: hubKeys.agents, limit: pageSize, offset });
      const how = { strategy: 'stall', maxWait: answerWithinMs, stall: stallMs } as const;
      total = 0;
      for await (const message of await nc.requestMany('$SYS.REQ.SERVER.PING.CONNZ', body, how)) {
        const { data } = page.parse(message.json());
        total = Math.max(total, data.total);
        for (const { issuer_key: signer = 'unknown', jwt } of data.connections ?? []) {
          bySigner[signer] = (bySigner[signer] ?? 0) + 1;
          const issued = jwt === undefined ? undefined : decodeJwt(jwt)?.iat;
          if (issued !== undefined) issuedAtMs.push(issued * 1000);
        }
      }
    }
  } finally {
    await nc.close();
  }
  return {
    bySigner,
    issuedSince: (atMs) => issuedAtMs.filter((issued) => issued >= atMs).length,
    withCredentials: issuedAtMs.length,
  };
}
