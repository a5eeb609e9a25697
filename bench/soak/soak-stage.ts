import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import { connectBus } from '@rollcall/shared/bus';
import { userClaims } from '@rollcall/shared/rights';
import { createNkey, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import { type EmbeddedHub, type EmbeddedHubOptions, startEmbeddedHub } from '../../cli/up/embedded-hub.ts';
import { serviceSettings } from '../../cli/up/hub-services.ts';
import { readOfflineKeys } from '../../cli/up/state/offline-keys.ts';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import { natsVictims, revivable, type Victim } from '../../tests/chaos/victims.ts';
import { serveInProcess, serviceNames } from '../../tests/harness/service-process.ts';
import { compiledProgram } from '../hub/agent-program.ts';
import { gaugeFlags } from './read-gauge.ts';

/** A process of the hub as it is now. */
export interface SoakProcess {
  readonly name: string;
  readonly pid: number;
  /** How often it was started before. */
  readonly life: number;
  /** Where what it says of itself is found; absent: it cannot be asked. */
  readonly gauge?: string;
}

export interface SoakStage extends AsyncDisposable {
  readonly hub: EmbeddedHub;
  /** As people who watch have it. */
  readonly bus: NatsConnection;
  /** In the system account of the servers. */
  readonly system: NatsConnection;
  /** Who is killed and started again. */
  readonly targets: ReadonlyMap<string, Victim>;
  /** All that run now. */
  processes(): SoakProcess[];
}

/** As in the image of the hub. */
const nodeFlags = ['--max-semi-space-size=4'];

/** Nobody of ours may ask the servers all of this; the holder of the keys that are kept offline can make who may. */
async function connectToSystem({ hub, stateDir, natsAddress }: EmbeddedHub): Promise<NatsConnection> {
  const root = nkeyFromSeed(readOfflineKeys(stateDir).accounts.sys);
  const key = createNkey('user');
  const role = { account: 'HUB', description: 'the soak', publish: ['$SYS.REQ.SERVER.PING.*'] } as const;
  const { issuer_account: _root, ...nats } = userClaims(
    { ...role, subscribe: ['_INBOX_soak.>'] },
    hub.keys.sys,
  );
  const jwt = encodeJwt({ subject: key.publicKey, name: 'soak', nowMs: Date.now(), nats }, root);
  return connectBus(natsAddress, { jwt, seed: key.seed }, 'soak');
}

/** Counts lives, and knows whether it runs. */
function counted(victim: Victim): Victim & { lives(): number; isUp(): boolean } {
  let [lives, isUp] = [0, true];
  return {
    ...victim,
    lives: () => lives,
    isUp: () => isUp,
    kill() {
      isUp = false;
      return victim.kill();
    },
    async start() {
      await victim.start();
      lives++;
      isUp = true;
    },
  };
}

function endNow(signal: NodeJS.Signals): void {
  process.stderr.write(`[soak] ended by ${signal}\n`);
  process.exit(1);
}

/** Children are in process groups of their own; at the exit of this process they end with it. */
function endWithSignals(started: AsyncDisposableStack): void {
  // A terminal that goes away is none of it: an hour is run with nohup.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, endNow);
    started.defer(() => void process.off(signal, endNow));
  }
}

/**
 * A hub each of whose services runs twice, as in production: the first lives for as long as the soak, so that a leak has its time to
 * show, and the second is killed.
 */
export async function openSoakStage(
  options: Pick<EmbeddedHubOptions, 'servers' | 'settings'> & { isCompiled: boolean },
): Promise<SoakStage> {
  const { isCompiled, ...hubOptions } = options;
  await using started = new AsyncDisposableStack();
  const base = mkdtempSync(join(tmpdir(), 'rollcall-soak-'));
  const forgetFiles = () => rmSync(base, { recursive: true, force: true });
  process.once('exit', forgetFiles);
  endWithSignals(started);
  started.defer(() => {
    process.off('exit', forgetFiles);
    forgetFiles();
  });
  const stateDir = join(base, 'hub');
  const hub = started.use(await startEmbeddedHub({ stateDir, port: 0, withServices: false, ...hubOptions }));
  const cliMain = isCompiled ? compiledProgram('cli/main.js') : undefined;
  const settings = serviceSettings(hub.serviceOptions);
  const servers = natsVictims(hub).map((victim, at) => [`nats-server ${at + 1}`, counted(victim)] as const);
  const services = await Promise.all(
    serviceNames.flatMap((service) =>
      [1, 2].map(async (replica) => {
        const gauge = join(base, `${service}-${replica}.gauge`);
        const start = () =>
          serveInProcess(service, {
            label: `${service}-${replica}`,
            stateDir,
            settings: settings[service],
            nodeFlags: [...nodeFlags, ...gaugeFlags(gauge)],
            cliMain,
          });
        const victim = counted(revivable(start, await start()));
        started.defer(() => victim.stop());
        return { name: `${service} ${replica}`, victim, gauge, isStruck: replica === 2 };
      }),
    ),
  );
  await hub.admissionInPlace();
  const bus = started.adopt(await connectAsInspector(stateDir, hub.natsAddress), (nc) => nc.close());
  const system = started.adopt(await connectToSystem(hub), (nc) => nc.close());
  const running = started.move();
  const struck = services.filter(({ isStruck }) => isStruck);
  return {
    hub,
    bus,
    system,
    targets: new Map<string, Victim>([
      ...struck.map(({ name, victim }) => [name, victim] as const),
      ...servers,
    ]),
    processes: () => [
      ...servers.flatMap(([name, victim]) =>
        victim.isUp() ? [{ name, pid: victim.pid(), life: victim.lives() }] : [],
      ),
      ...Object.entries(hub.plane.pids()).flatMap(([name, pid]) =>
        pid === undefined ? [] : [{ name, pid, life: 0 }],
      ),
      ...services.flatMap(({ name, victim, gauge }) =>
        victim.isUp() ? [{ name, pid: victim.pid(), life: victim.lives(), gauge }] : [],
      ),
    ],
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
