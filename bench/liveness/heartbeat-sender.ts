import { connectBus, encodeHeartbeat } from '@rollcall/shared/bus';
import { benchClusterId, indexOfTurn, type SenderOrder, type SenderSettings } from './heartbeat-settings.ts';

const tickMs = 1;
const heartbeat = encodeHeartbeat({ flags: 0, agentTimeMs: 0 });

/**
 * Heartbeats of a fleet that is spread over time, over few connections: a few each millisecond. Who sends heartbeats next is kept for each
 * size of fleet, so that every cluster sends heartbeats once a round whatever is measured in between.
 */
async function main({ ratePerSecond, connections, address, user }: SenderSettings): Promise<void> {
  const all = await Promise.all(
    Array.from({ length: connections }, () => connectBus(address, user, 'sender')),
  );
  const turnOf = new Map<number, number>();
  let clusters = 0;
  let sinceMs = 0;
  let sent = 0;

  function send(): void {
    if (clusters === 0) return;
    const due = Math.floor(((performance.now() - sinceMs) * ratePerSecond) / 1000);
    let turn = turnOf.get(clusters) ?? 0;
    for (; sent < due; sent++, turn++) {
      const id = benchClusterId(indexOfTurn(turn % clusters, clusters));
      all[sent % all.length]?.publish(`rollcall.heartbeat.${id}`, heartbeat);
    }
    turnOf.set(clusters, turn);
  }

  process.on('message', (order: SenderOrder) => {
    const sentBefore = sent;
    clusters = order;
    sinceMs = performance.now();
    sent = 0;
    void Promise.all(all.map((nc) => nc.flush())).then(() => process.send?.(sentBefore));
  });
  process.once('disconnect', () => process.exit());
  setInterval(send, tickMs);
  process.send?.('ready');
}

await main(JSON.parse(process.argv[2] ?? '') as SenderSettings);
