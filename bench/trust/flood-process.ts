import { setTimeout as delay } from 'node:timers/promises';
import { connectionOptions, connectNats, encodeHeartbeat } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import {
  createNkey,
  parseRegistrationToken,
  type RegistrationToken,
  signMessage,
} from '@rollcall/shared/trust';
import {
  type AskedHub,
  connectWithCredentials,
  connectWithToken,
  freshId,
  type RawAgent,
} from '../../tests/harness/raw-agent.ts';
import type { FloodSettings } from './flood-settings.ts';

/** Between two round trips of the one who sends: it fills what the server lets it. */
const burst = 500;
const connectionsOfOneToken = 50;
/** Each is refused late, so only many of them are many a second. */
const connectionsInVain = 500;
/** As many as one agent may ask at once (the registrar's request budget), so that all of them have to be judged. */
const requestsOfOneKey = 40;

const begun = () => void process.send?.('begun');
let sent = 0;
const over = new AbortController();

/** As fast as the connection takes it; ends when the hub ends the connection. */
async function sendOver({ nc }: RawAgent, subject: string, message: string | Uint8Array): Promise<void> {
  while (!over.signal.aborted && !nc.isClosed()) {
    for (let at = 0; at < burst; at++) nc.publish(subject, message);
    sent += burst;
    await Promise.race([nc.flush().catch(() => undefined), nc.closed()]);
  }
}

const garbage = `{"signed":"${'x'.repeat(200)}","signatures":[[[`;

/** Whenever it is cut it comes again, by a new key. */
async function garbageOfAgent(hub: AskedHub, token: RegistrationToken): Promise<void> {
  while (!over.signal.aborted) {
    const agent = await connectWithToken(hub, token).catch(() => undefined);
    if (agent) await sendOver(agent, `rollcall.request.${agent.key.publicKey}.join`, garbage);
  }
}

/** Becomes a member as everybody does, and comes again with its credentials whenever it is cut. */
async function floodOfMember(hub: AskedHub, settings: FloodSettings): Promise<void> {
  const token = parseRegistrationToken(settings.token);
  const asking = await connectWithToken(hub, token);
  const clusterId = freshId();
  const facts = { kubernetesVersion: 'v1.36.3' };
  const body = { clusterId, clusterName: clusterId, tokenKey: token.key.publicKey, facts };
  await asking.request('join', body, { signers: [asking.key, token.key] });
  const { result } = await asking.nextNews();
  if (result.kind !== 'admitted') throw new RollcallError('CHILD_FAILED', `not admitted: ${result.kind}`);
  await asking.nc.close();
  const isHeartbeats = settings.kind === 'heartbeats of one member';
  const subject = isHeartbeats
    ? `rollcall.heartbeat.${clusterId}`
    : `rollcall.request.${asking.key.publicKey}.facts`;
  const message = isHeartbeats ? encodeHeartbeat({ flags: 0, agentTimeMs: Date.now() }) : garbage;
  const credentials = { jwt: result.credentials, seed: asking.key.seed };
  begun();
  while (!over.signal.aborted) {
    const agent = await connectWithCredentials(hub, asking.key, credentials).catch(() => undefined);
    if (agent) await sendOver(agent, subject, message);
  }
}

/** The share of a core that an attacker took, and nothing else of what it did. */
async function burn(cores: number): Promise<void> {
  const periodMs = 20;
  while (!over.signal.aborted) {
    const untilMs = performance.now() + periodMs * Math.min(1, cores);
    while (performance.now() < untilMs);
    await delay(periodMs * (1 - Math.min(1, cores)));
  }
}

/** New keys and new clusters with a token whose only use is spent: everything is signed as it should be. */
async function askWithNewKeys(hub: AskedHub, settings: FloodSettings): Promise<void> {
  const token = parseRegistrationToken(settings.token);
  while (!over.signal.aborted) {
    // Its own flood keeps it out now and then.
    const agent = await connectWithToken(hub, token).catch(() => undefined);
    if (!agent) continue;
    for (let at = 0; at < requestsOfOneKey; at++) {
      const clusterId = freshId();
      const facts = { kubernetesVersion: 'v1.36.3' };
      const body = { clusterId, clusterName: clusterId, tokenKey: token.key.publicKey, facts };
      const content = { v: 1, hub: settings.hubId, verb: 'join', id: clusterId, atMs: Date.now(), body };
      const ask = JSON.stringify(signMessage(content, [agent.key, token.key]));
      agent.nc.publish(`rollcall.request.${agent.key.publicKey}.join`, ask);
    }
    sent += requestsOfOneKey;
    await Promise.race([agent.nc.flush().catch(() => undefined), agent.nc.closed()]);
    await agent.nc.close();
  }
}

/** With a token that nobody made: the server asks the registrar about each of them. */
async function connectInVain({ address }: FloodSettings): Promise<void> {
  while (!over.signal.aborted) {
    const [token, key] = [createNkey('user'), createNkey('user')];
    sent++;
    await connectNats({
      ...connectionOptions(address, 'agent'),
      reconnect: false,
      timeout: 10_000,
      authenticator: (nonce = '') => ({
        nkey: token.publicKey,
        sig: token.sign(nonce),
        user: key.publicKey,
        pass: key.sign(nonce),
      }),
    }).catch(() => undefined);
  }
}

async function flood(settings: FloodSettings): Promise<void> {
  const hub: AskedHub = { address: settings.address, hub: { hubId: settings.hubId } };
  if (settings.kind.endsWith('of one member')) return floodOfMember(hub, settings);
  begun();
  if (settings.kind === 'nothing') return burn(settings.cores ?? 0);
  const token = parseRegistrationToken(settings.token);
  if (settings.kind === 'garbage of one agent') return garbageOfAgent(hub, token);
  const isAboutToken = settings.kind === 'requests with one token';
  const atOnce = isAboutToken ? connectionsOfOneToken : connectionsInVain;
  const work = () => (isAboutToken ? askWithNewKeys(hub, settings) : connectInVain(settings));
  await Promise.all(Array.from({ length: atOnce }, work));
}

process.once('message', () => {
  over.abort();
  process.send?.(sent);
  process.disconnect();
});
process.once('disconnect', () => process.exit());
await flood(JSON.parse(process.argv[2] ?? '') as FloodSettings);
