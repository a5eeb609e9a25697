import { heartbeatFlags } from '@rollcall/shared/bus';
import { livenessStateOf } from '@rollcall/shared/events';
import { createNkey } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { configSchema } from '../../services/heartbeat/config.ts';
import { LivenessEngine } from '../../services/heartbeat/engine/liveness-engine.ts';
import type { ProposedTransition } from '../../services/heartbeat/engine/liveness-signals.ts';
import { decideLiveness } from '../../services/heartbeat/members/decide-liveness.ts';
import { aMember, clusterId } from './year-stream.ts';

const [secondMs, dayMs] = [1000, 86_400_000];
/** The defaults of a hub; where its servers are is not asked. */
const config = configSchema.parse({ busServers: 'nats://127.0.0.1', busCaFile: '-', identityFile: '-' });
const flap = { losses: config.flapLosses, windowMs: config.flapWindow };

/** What an agent does each second to have as much stored as it can. */
type Second = 'heartbeat' | 'goodbye' | 'member-down' | 'silence';

/** A day of one member, each second by what the record says and for how long. */
function aDay(does: (state: string, sinceMs: number) => Second): { bytes: number; events: number } {
  const startMs = Date.UTC(2026, 10, 21);
  let nowMs = startMs;
  const stream = aMember(createNkey('user'), nowMs);
  const before = stream.bytes;
  const proposals: ProposedTransition[] = [];
  let events = 0;
  const engine = new LivenessEngine({
    nowMs,
    suspectAfterMs: config.suspectAfter,
    steadyForMs: config.flapSteady,
    outage: { share: 1, groupShare: 1, minimum: 1000, windowMs: 15_000, deadlineMs: 300_000 },
    output: {
      live: () => undefined,
      outage: () => undefined,
      keyUse: () => undefined,
    },
  });
  engine.proposals.takenBy((proposal) => void proposals.push(proposal));
  const { identity, decision } = stream.read();
  const { intervalSeconds, graceSeconds } = decision?.heartbeat ?? { intervalSeconds: 0, graceSeconds: 0 };
  const [intervalMs, graceMs] = [intervalSeconds * secondMs, graceSeconds * secondMs];
  const key = identity?.admittedKey ?? '';
  engine.put(
    { clusterId, key, state: 'neverSeen', intervalMs, graceMs, sinceMs: nowMs, lastHeartbeatMs: -Infinity },
    nowMs,
  );
  function write(): void {
    for (let proposal = proposals.shift(); proposal; proposal = proposals.shift()) {
      const finding = { ...proposal, lastHeartbeatAtMs: proposal.lastHeartbeatMs, nowMs, flap };
      events += stream.append(decideLiveness(stream.read(), finding), nowMs);
      const { liveness } = stream.read();
      engine.proposals.settle(
        proposal,
        { state: livenessStateOf(liveness), sinceMs: liveness?.sinceMs ?? 0 },
        nowMs,
      );
    }
  }
  const id = Buffer.from(clusterId);
  for (const endMs = startMs + dayMs; nowMs < endMs;) {
    nowMs += secondMs;
    const { liveness } = stream.read();
    const act = does(livenessStateOf(liveness), nowMs - (liveness?.sinceMs ?? nowMs));
    const flags = {
      heartbeat: 0,
      goodbye: heartbeatFlags.goodbye,
      'member-down': heartbeatFlags.memberApiDown,
      silence: 0,
    };
    if (act !== 'silence') engine.hear(id, 0, id.length, flags[act], nowMs);
    write();
    engine.advance(nowMs);
    write();
  }
  return { bytes: stream.bytes - before, events };
}

test.each<{ name: string; does: Parameters<typeof aDay>[0] }>([
  {
    name: 'comes and says goodbye each second, and behaves only to be believed again',
    does: (state) => (state === 'ready' ? 'goodbye' : 'heartbeat'),
  },
  {
    name: 'is silent for a whole grace whenever it flaps',
    does: (state) => (state === 'flapping' ? 'silence' : state === 'ready' ? 'goodbye' : 'heartbeat'),
  },
  {
    name: 'says that its API server does not answer, and that it does',
    does: (state) => (state === 'ready' ? 'member-down' : 'heartbeat'),
  },
  { name: 'falls silent and comes back', does: (state) => (state === 'ready' ? 'silence' : 'heartbeat') },
])('a member that $name: no more than is said of it is stored', ({ does }) => {
  const { bytes, events } = aDay(does);
  // docs/scale.md and docs/security/events.md say so.
  expect(events).toBeLessThan(6200);
  expect(bytes * 365).toBeLessThan(1.8e9);
  expect(events).toBeGreaterThan(1000);
});
