import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { applyManifests, resources } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { untilAvailable } from '../../cli/install/until-available.ts';
import { statefulSets } from '../../cli/install/workloads.ts';
import { type CliResult, runCli, withKubeconfig } from '../../cli/tests/run-cli.ts';
import { openHubFiles } from '../../cli/trust/hub-files.ts';
import { manifestsIn, onceServed } from '../../cli/up/hub-manifests.ts';
import { startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts';
import { conditionOf, until } from '../harness/embedded.ts';
import { type ChartRunner, startChartRunner } from './chart-runner.ts';
import { helm, type HelmResult, helmWithChart } from './helm.ts';
import { hubServices, type OneMachine, oneMachine } from './one-machine.ts';

/** Eight processes begin at once, on a machine that may be busy. */
const runsWithinMs = 240_000;
const namespaces = { hub: 'rollcall-system', agent: 'rollcall-agent' } as const;
type Chart = keyof typeof namespaces;

/** Clusters in which a hub and an agent can be installed, and what tests do with those that are; nothing is installed yet. */
export interface ChartHub extends AsyncDisposable, OneMachine {
  readonly folder: string;
  /** The directory with the keys of the hub. */
  readonly keys: string;
  /** The cluster of the hub, and the one of its pods and of the agent; mostly the same. */
  readonly plane: TestControlPlane;
  readonly workloads: TestControlPlane;
  /** The command line, as the admin of the hub. */
  rollcall(...args: string[]): Promise<CliResult>;
  /** With what the pods printed, where they did not run in time. */
  install(...flags: string[]): Promise<CliResult>;
  /** @returns values for the chart of the hub, and what the command said */
  makeKeys(...flags: string[]): Promise<{ values: { hub: object }; made: CliResult }>;
  /** Helm, with one of our charts, or the path of another version of it. */
  chart(
    verb: readonly string[],
    chart: string,
    values: object,
    where?: TestControlPlane,
  ): Promise<HelmResult>;
  release(verb: readonly string[], name: Chart, where?: TestControlPlane): Promise<HelmResult>;
  createToken(): Promise<string>;
  /** Lets every valid token in, and installs the agent by its chart. @returns the values that it has */
  installAgent(clusterName: string, more?: { chart?: string; memberAccess?: object }): Promise<object>;
  cluster(name: string): Promise<ManagedCluster | undefined>;
  /** Every wait fails with what the pods printed. */
  readiness(name: string, status: string): Promise<ManagedCluster>;
  untilAllRun(): Promise<void>;
  /** The server is stopped, loses its volume, and starts on an empty one. */
  loseVolume(): Promise<void>;
}

function startPlane(): Promise<TestControlPlane> {
  return startTestControlPlane({ withControllerManager: true, withManifests: false });
}

/** @param options.areApart - whether the pods of the hub are in another cluster than what people see of it */
export async function startChartHub(
  options: { servers?: 1 | 3; areApart?: boolean } = {},
): Promise<ChartHub> {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-chart-hub-'));
  const keys = join(folder, 'keys');
  const plane = await startPlane();
  const workloads = options.areApart ? await startPlane() : plane;
  const machine = await oneMachine(folder, options.servers);
  const runner = startChartRunner(workloads.admin, namespaces.hub);
  const agentRunner = startChartRunner(workloads.admin, namespaces.agent);
  // For the tokens that Secrets ask for.
  const more: ChartRunner[] = options.areApart ? [startChartRunner(plane.admin, namespaces.hub)] : [];

  const kubeconfigOf = (where: TestControlPlane) => where.plane.adminKubeconfigPath;
  const rollcall = (...args: string[]) => runCli(withKubeconfig(args, kubeconfigOf(plane)));
  const there = options.areApart ? ['--workloads-kubeconfig', kubeconfigOf(workloads)] : [];
  const installFlags = ['--keys', keys, '--values', machine.valuesFile, '--timeout', '4m', ...there];
  const cluster = (name: string) => plane.admin.get<ManagedCluster>(resources.managedClusters, { name });
  /** The end of what each pod printed. */
  function logs(): string {
    const names = ['nats', 'console', ...hubServices].map((name) => `rollcall-${name}`);
    const all = [...names.map((name) => runner.log(name)), agentRunner.log('rollcall-agent')];
    return all.map((log) => log.slice(-2000)).join('\n');
  }
  const withLogs = <Value>(waiting: Promise<Value>): Promise<Value> =>
    waiting.catch((error: unknown) => {
      throw new Error(logs(), { cause: error });
    });

  const hub: ChartHub = {
    ...machine,
    folder,
    keys,
    plane,
    workloads,
    rollcall,
    async install(...flags) {
      const result = await rollcall('install', 'hub', ...installFlags, ...flags);
      const isLate = result.stderr.includes('code: DEADLINE_EXCEEDED');
      return isLate ? { ...result, stderr: `${result.stderr}\n${logs()}` } : result;
    },
    async makeKeys(...flags) {
      const made = await hub.install('--only-keys', '--advertise', machine.address, ...flags);
      expect(made.code, made.stderr).toBe(0);
      const given = parse(readFileSync(machine.valuesFile, 'utf8')) as object;
      return { values: { ...given, ...(parse(made.stdout) as { hub: object }) }, made };
    },
    chart: (verb, chart, values, where = workloads) =>
      helmWithChart(verb, chart, {
        values,
        namespace: namespaces[basename(chart) as Chart],
        kubeconfig: kubeconfigOf(where),
      }),
    release: (verb, name, where = workloads) =>
      helm([...verb, '--namespace', namespaces[name]], kubeconfigOf(where)),
    async createToken() {
      const made = await rollcall('token', 'create', '-o', 'json', '--wait', '--timeout', '2m');
      expect(made.code, made.stderr).toBe(0);
      return (JSON.parse(made.stdout) as { token: string }).token;
    },
    async installAgent(clusterName, { chart = 'agent', memberAccess } = {}) {
      await onceServed(() => applyManifests(plane.admin, manifestsIn('embedded')));
      const { caCertHash } = openHubFiles(keys).read('hub');
      const token = await hub.createToken();
      const given = memberAccess ? { memberAccess } : {};
      const values = { hub: machine.address, caCertHash, token, clusterName, ...given };
      const installed = await hub.chart(['install', 'agent', '--create-namespace'], chart, values);
      expect(installed.code, installed.stderr).toBe(0);
      await hub.readiness(clusterName, 'True');
      return values;
    },
    cluster,
    readiness: (name, status) =>
      withLogs(
        until(`cluster ${name} has Ready=${status}`, async () => {
          const found = await cluster(name);
          return conditionOf(found, 'Ready')?.status === status && found;
        }),
      ),
    async untilAllRun() {
      const services = hubServices.map((name) => ({
        resource: resources.deployments,
        name: `rollcall-${name}`,
      }));
      const all = [{ resource: statefulSets, name: 'rollcall-nats' }, ...services];
      const running = all.map((one) =>
        untilAvailable(workloads.admin, { ...one, namespace: namespaces.hub }, runsWithinMs),
      );
      await withLogs(Promise.all(running));
    },
    async loseVolume() {
      const where = { resource: statefulSets, name: 'rollcall-nats', namespace: namespaces.hub };
      const scale = async (replicas: number) => {
        await workloads.admin.mergePatch(statefulSets, where.name, { spec: { replicas } }, where);
        await withLogs(untilAvailable(workloads.admin, where, runsWithinMs));
      };
      await scale(0);
      runner.emptyVolume('data-rollcall-nats-0');
      await scale(1);
    },
    async [Symbol.asyncDispose]() {
      for (const one of [agentRunner, runner, ...more]) await one[Symbol.asyncDispose]();
      for (const one of new Set([workloads, plane])) await one[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return hub;
}
