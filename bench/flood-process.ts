import { connect } from '@nats-io/transport-node';
import { connectionOptions } from '@rollcall/shared/bus';
import { createNkey, parseRegistrationToken, signMessage } from '@rollcall/shared/trust';
import { type AskedHub, connectWithToken, freshId, type RawAgent } from '../tests/harness/raw-agent.ts';
import type { FloodSettings } from './flood-settings.ts';
import { inFlight } from './in-flight.ts';

/** Between two round trips of the one who sends: it fills what the server lets it. */
const burst = 500;
const connectionsAtOnce = 50;
/** As many as one agent may ask at once (the registrar's ask budget), so that all of them have to be judged. */
const asksOfOneKey = 40;

let sent = 0;
const over = new AbortController();

async function sendGarbage(agent: RawAgent): Promise<void> {
  const garbage = `{"signed":"${'x'.repeat(200)}","signatures":[[[`;
  while (!over.signal.aborted) {
    for (let at = 0; at < burst; at++) agent.nc.publish(`rollcall.ask.${agent.key.publicKey}.join`, garbage);
    sent += burst;
    await agent.nc.flush();
  }
}

/** New keys and new clusters with a token whose only use is spent: everything is signed as it should be. */
async function askWithNewKeys(hub: AskedHub, settings: FloodSettings): Promise<void> {
  const token = parseRegistrationToken(settings.token);
  while (!over.signal.aborted) {
    // Its own flood keeps it out now and then.
    const agent = await connectWithToken(hub, token).catch(() => undefined);
    if (!agent) continue;
    for (let at = 0; at < asksOfOneKey; at++) {
      const clusterId = freshId();
      const facts = { kubernetesVersion: 'v1.36.3' };
      const body = { clusterId, clusterName: clusterId, tokenKey: token.key.publicKey, facts };
      const content = { v: 1, hub: settings.hubId, verb: 'join', id: clusterId, atMs: Date.now(), body };
      const ask = JSON.stringify(signMessage(content, [agent.key, token.key]));
      agent.nc.publish(`rollcall.ask.${agent.key.publicKey}.join`, ask);
    }
    sent += asksOfOneKey;
    await agent.nc.flush().catch(() => undefined);
    await agent.nc.close();
  }
}

/** With a token that nobody made: the server asks the registrar about each of them. */
async function connectInVain({ address }: FloodSettings): Promise<void> {
  while (!over.signal.aborted) {
    const [token, key] = [createNkey('user'), createNkey('user')];
    sent++;
    await connect({
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
  if (settings.kind === 'garbage of one agent') {
    await using agent = await connectWithToken(hub, parseRegistrationToken(settings.token));
    process.send?.('begun');
    await sendGarbage(agent);
    return;
  }
  process.send?.('begun');
  const isAboutToken = settings.kind === 'asks with one token';
  const work = () => (isAboutToken ? askWithNewKeys(hub, settings) : connectInVain(settings));
  await inFlight(connectionsAtOnce, { atOnce: connectionsAtOnce, work });
}

process.once('message', () => {
  over.abort();
  process.send?.(sent);
  process.disconnect();
});
process.once('disconnect', () => process.exit());
await flood(JSON.parse(process.argv[2] ?? '') as FloodSettings);
