import { readDeadLetters } from '@rollcall/shared/bus';
import { clusterRecord } from '@rollcall/shared/events';
import { type KubeObject, type Resource, resources } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { expect, test } from 'vitest';
import { serviceUser, startTestControlPlane } from '../../../tests/harness/control-plane.ts';
import { until } from '../../../tests/harness/embedded.ts';
import { decideAs, requestAs } from '../../../tests/harness/events.ts';
import { startTestHub } from '../../../tests/harness/test-hub.ts';
import { configSchema, start } from '../main.ts';

const flowControl = (plural: string, kind: string): Resource => ({
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  plural,
  kind,
  namespaced: false,
});
const levels = flowControl('prioritylevelconfigurations', 'PriorityLevelConfiguration');
const flows = flowControl('flowschemas', 'FlowSchema');
const user = serviceUser('projector');

/** Priority and fairness that lets one write of the projector at a time through, and refuses all others: 429, and Retry-After. */
const onePlace: readonly [Resource, KubeObject][] = [
  [
    levels,
    {
      apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
      kind: 'PriorityLevelConfiguration',
      metadata: { name: 'one-place' },
      spec: {
        type: 'Limited',
        limited: {
          nominalConcurrencyShares: 0,
          lendablePercent: 0,
          borrowingLimitPercent: 0,
          limitResponse: { type: 'Reject' },
        },
      },
    },
  ],
  [
    flows,
    {
      apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
      kind: 'FlowSchema',
      metadata: { name: 'one-place' },
      spec: {
        priorityLevelConfiguration: { name: 'one-place' },
        matchingPrecedence: 2,
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: user } }],
            resourceRules: [
              {
                verbs: ['create', 'patch'],
                apiGroups: ['rollcall.dev'],
                resources: ['*'],
                clusterScope: true,
                namespaces: ['*'],
              },
            ],
          },
        ],
      },
    },
  ],
];

test('an API server that is away or has no room is asked again, its projection is told to be behind, and nothing is lost', async () => {
  await using hub = await startTestHub();
  await using plane = await startTestControlPlane({ ownPlane: true });
  for (const [resource, object] of onePlace) await plane.admin.create(resource, object);
  const kubeconfig = plane.kubeconfigFor(user);
  const projector = await start(configSchema.parse({ ...hub.serviceSettings('projector'), kubeconfig }));
  const ops = await hub.connectAs('inspector');
  const lagSeconds = async () => {
    const stats = await ops.request('$SRV.STATS.projector');
    return stats.json<{ data: { lagSeconds: number } }>().data.lagSeconds;
  };
  const refused = async () => {
    const { body } = await plane.admin.raw('/metrics');
    const found = /^apiserver_flowcontrol_rejected_requests_total\{flow_schema="one-place".*\} (\d+)$/m.exec(
      body,
    );
    return Number(found?.[1] ?? 0);
  };
  try {
    await until('the projector works', async () => projector.notReady() === undefined);
    await plane.plane.kill('kube-apiserver');
    const [registrar, approver] = await Promise.all([hub.openLog('registrar'), hub.openLog('approver')]);
    const names = Array.from({ length: 40 }, (_, index) => `busy-${index}`);
    for (const name of names) {
      await requestAs(registrar, name, Date.now());
      await decideAs(approver, name, 'approved');
    }
    await until('the projection is behind', async () => (await lagSeconds()) > 1);
    await plane.plane.restart('kube-apiserver');
    for (const name of names) {
      const { head } = clusterRecord(await approver.read({ kind: 'cluster', id: name }));
      await until(`${name} is shown`, async () => {
        const shown = await plane.admin.get<ManagedCluster>(resources.managedClusters, { name });
        return shown?.status?.observed?.sequence === head?.sequence;
      });
    }
    expect(await refused()).toBeGreaterThan(0);
    await until('nothing is behind', async () => (await lagSeconds()) === 0);
    expect(await readDeadLetters(ops)).toEqual([]);
  } finally {
    await projector.stop();
  }
});
