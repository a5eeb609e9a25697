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

/** Priority and fairness with no place at all for what the projector writes: 429, and Retry-After. */
const noPlace: readonly [Resource, KubeObject][] = [
  [
    levels,
    {
      apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
      kind: 'PriorityLevelConfiguration',
      metadata: { name: 'no-place' },
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
      metadata: { name: 'no-place' },
      spec: {
        priorityLevelConfiguration: { name: 'no-place' },
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

test('an API server that has no room for our writes is asked again, its picture is told to be behind, and nothing is lost', async () => {
  await using hub = await startTestHub();
  await using plane = await startTestControlPlane();
  const probe = plane.clientFor(user);
  const isRefused = () =>
    probe
      .create(
        resources.managedClusters,
        {
          apiVersion: 'rollcall.dev/v1alpha1',
          kind: 'ManagedCluster',
          metadata: { name: 'probe' },
          spec: {},
        },
        { dryRun: true },
      )
      .then(
        () => undefined,
        (error: { status?: number; retryAfterMs?: number }) => error.status === 429 && error,
      );
  for (const [resource, object] of noPlace) await plane.admin.create(resource, object);
  const refusal = await until('the API server has no room', isRefused);
  expect(refusal).toMatchObject({ retry: true, retryAfterMs: 1000 });

  const kubeconfig = plane.kubeconfigFor(user);
  const projector = await start(configSchema.parse({ ...hub.serviceSettings('projector'), kubeconfig }));
  try {
    const [registrar, approver] = await Promise.all([hub.openLog('registrar'), hub.openLog('approver')]);
    const names = Array.from({ length: 30 }, (_, index) => `busy-${index}`);
    for (const name of names) {
      await requestAs(registrar, name, Date.now());
      await decideAs(approver, name, 'approved');
    }
    const ops = await hub.connectAs('ops');
    const lag = async () => {
      const stats = await ops.request('$SRV.STATS.projector');
      return stats.json<{ data: { lagSeconds: number } }>().data.lagSeconds;
    };
    await until('the picture is behind', async () => (await lag()) > 1);
    for (const [resource, { metadata }] of noPlace.toReversed())
      await plane.admin.delete(resource, metadata.name ?? '');
    for (const name of names) {
      const { head } = clusterRecord(await approver.read({ kind: 'cluster', id: name }));
      await until(`${name} is shown`, async () => {
        const shown = await plane.admin.get<ManagedCluster>(resources.managedClusters, { name });
        return shown?.status?.observed?.sequence === head?.sequence;
      });
    }
    await until('nothing is behind', async () => (await lag()) === 0);
    expect(await readDeadLetters(ops)).toEqual([]);
  } finally {
    await projector.stop();
    probe.close();
  }
});
