import { writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import type { ServiceName } from '@rollcall/shared/rights';
import { stringify } from 'yaml';
import { type ChildHandle, startChild } from '../../cli/up/process/child-process.ts';
import { loopbackPorts } from '../../cli/up/loopback-ports.ts';
import { serviceSettings } from '../../cli/up/hub-services.ts';
import type { EmbeddedHub } from '../../cli/up/embedded-hub.ts';

const ownCliMain = join(import.meta.dirname, '..', '..', 'cli', 'main.ts');
export const serviceNames = [
  'registrar',
  'approver',
  'rbac-provisioner',
  'heartbeat',
  'projector',
  'account-controller',
] as const satisfies readonly ServiceName[];

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/readyz' }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    }).on('error', () => resolve(false));
  });
}

/**
 * A service as production runs it: `rollcall serve NAME` in a process of its own, configured by a file.
 * @param which.cliMain - of another version than this checkout
 */
export async function startServiceProcess(
  hub: EmbeddedHub,
  name: ServiceName,
  which: { replica: number; cliMain?: string },
): Promise<ChildHandle> {
  const settings = serviceSettings(hub.serviceOptions)[name];
  const { replica, cliMain } = which;
  return serveInProcess(name, { label: `${name}-${replica}`, stateDir: hub.stateDir, settings, cliMain });
}

export async function serveInProcess(
  name: ServiceName,
  options: {
    label: string;
    stateDir: string;
    settings: Record<string, string>;
    nodeFlags?: readonly string[];
    /** Whose command line; default: that of this checkout. */
    cliMain?: string | undefined;
  },
): Promise<ChildHandle> {
  const { label, stateDir, nodeFlags = [], cliMain = ownCliMain } = options;
  const { health } = await loopbackPorts(join(stateDir, `${label}-ports.json`), ['health']);
  const { logFile: _inProcess, ...settings } = options.settings;
  const file = join(stateDir, `${label}.yaml`);
  writeFileSync(file, stringify({ ...settings, healthPort: health }), { mode: 0o600 });
  return startChild({
    name: label,
    command: process.execPath,
    args: [...nodeFlags, cliMain, 'serve', name, '--config', file],
    stateDir,
    logPath: join(stateDir, 'logs', `${label}.log`),
    isReady: () => isReady(health),
    readyWithinMs: 60_000,
  });
}

/** All six services, that many processes each. */
export async function startServiceProcesses(
  hub: EmbeddedHub,
  replicas: number,
): Promise<Map<string, ChildHandle>> {
  const started = new Map<string, ChildHandle>();
  for (let replica = 1; replica <= replicas; replica++) {
    const children = await Promise.all(
      serviceNames.map((name) => startServiceProcess(hub, name, { replica })),
    );
    children.forEach((child, index) => started.set(`${serviceNames[index]}-${replica}`, child));
  }
  return started;
}

export async function stopAll(children: Iterable<ChildHandle>): Promise<void> {
  await Promise.all([...children].map((child) => child.stop()));
}
