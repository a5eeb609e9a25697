import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyManifests, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { startCli } from '../../cli/tests/run-cli.ts';
import { openHubFiles } from '../../cli/trust/hub-files.ts';
import { manifestsIn, onceServed } from '../../cli/up/hub-manifests.ts';
import { conditionOf } from '../harness/embedded.ts';
import { openSmallDisk, type SmallDisk, whyNoSmallDisk } from '../harness/small-disk.ts';
import { hubNamespace, installAllInOne, type InstalledHub, startInstalledHub } from './installed-hub.ts';
import { tellPodsWhenFailed } from './node-cluster.ts';
import { untilOnNodes } from './until-on-nodes.ts';

const nats = ['--namespace', hubNamespace, 'statefulset', 'rollcall-nats'] as const;
const noDisk = inject('nodes').whyNot ?? (await whyNoSmallDisk());
const diskBytes = 256 * 2 ** 20;

describe.skipIf(noDisk)('the volume of the NATS server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-volume-'));
  let hub: InstalledHub;
  let disk: SmallDisk;
  let token: string;
  tellPodsWhenFailed(() => hub);
  beforeAll(async () => {
    hub = await startInstalledHub(1, {}, { install: onSmallDisk });
    await onceServed(() => applyManifests(hub.admin, manifestsIn('embedded')));
    token = await makeToken();
  });
  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    // The node unmounted it when it went.
    rmSync(folder, { recursive: true, force: true });
  });

  async function onSmallDisk(started: InstalledHub): Promise<void> {
    const directory = started.nodes[0]?.volume(0) ?? '';
    disk = await openSmallDisk({ directory, image: join(folder, 'image'), sizeBytes: diskBytes });
    await installAllInOne(started);
  }
  async function makeToken(): Promise<string> {
    const made = await hub.rollcall('token', 'create', '--uses', 'unlimited', '-o', 'json', '--wait');
    expect(made.code, made.stderr).toBe(0);
    return (JSON.parse(made.stdout) as { token: string }).token;
  }
  /** An agent outside of the cluster that asks to be let in. */
  function ask(name: string) {
    const { caCertHash } = openHubFiles(hub.keys).read('hub');
    const member = ['--member-kubeconfig', hub.kubeconfig, '--client-id', name, '--cluster-name', name];
    const flags = ['--ca-cert-hash', caCertHash, '--run', ...member];
    return startCli(['register', hub.hubAddress, ...flags], { environment: { ROLLCALL_TOKEN: token } });
  }
  const statusSaying = (text: string) =>
    untilOnNodes(
      `the hub says ${text}`,
      async () => {
        const { stdout } = await hub.rollcall('status');
        return stdout.includes(text) && stdout;
      },
      { everyMs: 2000 },
    );
  const isReady = async (name: string) => conditionOf(await hub.cluster(name), 'Ready')?.status === 'True';

  test('a full one refuses new clusters and says why; those that are there stay Ready, and with room the new ones get in', async () => {
    await disk.fill();
    await using late = ask('late');
    // Events by themselves, as there always are: once what was left of a block is used, the server gives its streams up.
    let changes = 0;
    await untilOnNodes('the hub says that nothing can be written', async () => {
      const labels = { changes: `c${changes++}` };
      await hub.admin.mergePatch(resources.managedClusters, 'local', { metadata: { labels } });
      const { stdout } = await hub.rollcall('status');
      return stdout.includes('is 100 % full') && stdout.includes('rollout restart statefulset rollcall-nats');
    });
    await late.line(/is 100 % full/);
    expect(await hub.cluster('late')).toBeUndefined();
    expect(await isReady('local')).toBe(true);
    await disk.makeRoom();
    await hub.kubectl('rollout', 'restart', ...nats);
    await hub.kubectl('rollout', 'status', ...nats, '--timeout=120s');
    const ended = late.result.then(({ stderr }) => Promise.reject(new Error(stderr)));
    await Promise.race([hub.readiness('late', 'True'), ended]);
    expect(await isReady('local')).toBe(true);
  });

  test('one that is lost is noticed, nobody gets in, and the hub goes on without it when it is told to', async () => {
    await hub.kubectl('scale', ...nats, '--replicas=0');
    const gone = ['wait', '--for=delete', 'pod/rollcall-nats-0', '--timeout=120s'];
    await hub.kubectl('--namespace', hubNamespace, ...gone);
    for (const name of readdirSync(disk.directory))
      rmSync(join(disk.directory, name), { recursive: true, force: true });
    await hub.kubectl('scale', ...nats, '--replicas=1');
    // Whatever starts now finds a server that never had a history.
    await hub.kubectl('--namespace', hubNamespace, 'delete', 'pods', '--all', '--wait');
    const asking = ask('later');
    onTestFinished(() => asking[Symbol.asyncDispose]());
    const status = await statusSaying('HISTORY_LOST');
    expect(await hub.cluster('later')).toBeUndefined();
    const { hubId } = openHubFiles(hub.keys).read('hub');
    expect(status).toContain('rollcall restore --accept-loss HUB-ID --keys DIR');
    const accepted = await untilOnNodes('every service says so', async () => {
      const result = await hub.rollcall('restore', '--accept-loss', hubId, '--keys', hub.keys);
      return result.code !== 2 && result;
    });
    expect(accepted.code, accepted.stderr).toBe(0);
    await hub.untilAllRun();
    await untilOnNodes('the hub says nothing of a loss any more', async () => {
      const { stdout } = await hub.rollcall('status');
      return stdout !== '' && !stdout.includes('HISTORY_LOST');
    });
  });
});
