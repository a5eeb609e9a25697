import type { z } from 'zod';
import { type ConfigSources, describeConfig, loadConfig } from '@rollcall/shared/config';
import type { ServiceName } from '@rollcall/shared/rights';
import type { RunningService } from '@rollcall/shared/service';

/** A service as the command line sees it: what it takes, whether that is valid, and how to start it. */
export interface ServableService {
  readonly settings: ReturnType<typeof describeConfig>;
  /** @throws RollcallError CONFIG_INVALID naming all mistakes together */
  check(sources: ConfigSources): void;
  /** @param waitsUntil - until when a bus is waited for that is not there yet */
  start(sources: ConfigSources, waitsUntil: AbortSignal): Promise<Pick<RunningService, 'failed' | 'stop'>>;
}

function servable<Shape extends z.ZodRawShape>(module: {
  readonly configSchema: z.ZodObject<Shape, z.core.$strict>;
  start(
    config: z.output<z.ZodObject<Shape, z.core.$strict>>,
    waitsUntil: AbortSignal,
  ): ReturnType<ServableService['start']>;
}): ServableService {
  return {
    settings: describeConfig(module.configSchema),
    check: (sources) => void loadConfig(module.configSchema, sources),
    start: (sources, waitsUntil) => module.start(loadConfig(module.configSchema, sources), waitsUntil),
  };
}

const modules: Readonly<Record<ServiceName | 'console', () => Promise<ServableService>>> = {
  registrar: async () => servable(await import('@rollcall/registrar')),
  approver: async () => servable(await import('@rollcall/approver')),
  'rbac-provisioner': async () => servable(await import('@rollcall/rbac-provisioner')),
  heartbeat: async () => servable(await import('@rollcall/heartbeat')),
  projector: async () => servable(await import('@rollcall/projector')),
  'account-controller': async () => servable(await import('@rollcall/account-controller')),
  'agent-host': agentHost,
  'member-gateway': async () => servable(await import('@rollcall/member-gateway')),
  console: servedConsole,
};

/** The manifests belong to the command line, which prints the very same ones for people. */
async function agentHost(): Promise<ServableService> {
  const [{ configSchema, start }, { renderManifest }] = await Promise.all([
    import('@rollcall/agent-host'),
    import('../register/manifest.ts'),
  ]);
  return servable({ configSchema, start: (config, waitsUntil) => start(config, renderManifest, waitsUntil) });
}

/** What people do there the commands do, with the token of that person. */
async function servedConsole(): Promise<ServableService> {
  const [{ configSchema, start }, { consoleHub }] = await Promise.all([
    import('@rollcall/console-service'),
    import('../console/console-hub.ts'),
  ]);
  return servable({ configSchema, start: (config) => start(config, (as) => consoleHub({ as })) });
}

export const serviceNames: readonly string[] = Object.keys(modules);

/** Imports the one service that is served; undefined for a name that is none. */
export function loadService(name: string): Promise<ServableService> | undefined {
  return Object.hasOwn(modules, name) ? modules[name as keyof typeof modules]() : undefined;
}
