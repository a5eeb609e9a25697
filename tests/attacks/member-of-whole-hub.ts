import { clusterRecord } from '@rollcall/shared/events';
import { type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { aJoin, joinWith } from '../harness/join.ts';
import {
  type AskedHub,
  connectWithCredentials,
  connectWithToken,
  type RawAgent,
} from '../harness/raw-agent.ts';

export interface Member {
  readonly clusterId: string;
  readonly clusterName: string;
  readonly agent: RawAgent;
}

export const recordOn = async (hub: TestEmbeddedHub, id: string) =>
  clusterRecord(await hub.log.read({ kind: 'cluster', id }));

export const asAsked = (hub: TestEmbeddedHub): AskedHub => ({ address: hub.up.natsAddress, hub: hub.up.hub });

/** A cluster as it is after a normal registration, connected as a member. */
export async function admitMember(hub: TestEmbeddedHub): Promise<Member> {
  const token = await hub.createToken();
  await using asking = await connectWithToken(asAsked(hub), token);
  const body = aJoin(token);
  const first = await joinWith(asking, token, body);
  const { result } = first.result.kind === 'admitted' ? first : await asking.nextNews();
  if (result.kind !== 'admitted') throw new Error(`not admitted: ${JSON.stringify(result)}`);
  const { clusterId, clusterName } = body;
  // Nothing more comes by itself after that, so that a test can say that nothing was written.
  await until('it is admitted and has its access', async () => {
    const { identity, access } = await recordOn(hub, clusterId);
    return identity?.admittedKey !== undefined && access?.state === 'provisioned';
  });
  const { seed } = asking.key;
  const agent = await connectWithCredentials(asAsked(hub), asking.key, { jwt: result.credentials, seed });
  return { clusterId, clusterName, agent };
}
