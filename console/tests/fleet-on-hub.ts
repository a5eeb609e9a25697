import { resources } from '@rollcall/shared/kubernetes';
import {
  grant,
  startTestEmbeddedHub,
  type TestAgent,
  type TestEmbeddedHub,
  until,
} from '../../tests/harness/embedded.ts';

export interface SmallFleet extends AsyncDisposable {
  readonly hub: TestEmbeddedHub;
  readonly agents: ReadonlyMap<string, TestAgent>;
}

const members = { dc: 6, edge: 18, shops: 12 } as const;
export const memberCount = Object.values(members).reduce((sum, count) => sum + count, 0);
/** They wait for a person. */
export const newSites = ['site-19', 'site-20', 'site-21'];

async function makeSetsAndPolicy({ up: { admin } }: TestEmbeddedHub): Promise<void> {
  for (const name of Object.keys(members))
    await admin.create(resources.managedClusterSets, {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'ManagedClusterSet',
      metadata: { name },
      spec: {},
    });
  await admin.create(resources.approvalPolicies, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name: 'sites' },
    spec: {
      rules: [
        {
          name: 'ask-a-person',
          when: 'request.clusterName.startsWith("site")',
          effect: 'Hold',
          reason: 'NewSite',
        },
      ],
    },
  });
}

/** A hub with members in three sets, and three new sites that a policy holds. Alice may do everything, Bob may look. */
export async function startSmallFleet(): Promise<SmallFleet> {
  await using started = new AsyncDisposableStack();
  const hub = started.use(await startTestEmbeddedHub({ ownPlane: true }));
  await Promise.all([
    grant(hub, 'alice', ['rollcall-admin']),
    grant(hub, 'bob', ['rollcall-viewer']),
    makeSetsAndPolicy(hub),
  ]);
  const agents = new Map<string, TestAgent>();
  const start = async (name: string, token: string) =>
    void agents.set(name, await hub.startAgent({ name, token }));
  const site = (await hub.createToken({ uses: 10 })).text;
  await Promise.all(newSites.map((name) => start(name, site)));
  for (const [set, count] of Object.entries(members)) {
    const token = (
      await hub.createToken({
        clusterSet: set,
        uses: count,
        labels: { region: set === 'edge' ? 'eu-west' : 'eu-central' },
      })
    ).text;
    await Promise.all(
      Array.from({ length: count }, (_, index) =>
        start(`${set}-${String(index + 1).padStart(2, '0')}`, token),
      ),
    );
  }
  await until('all members are Ready', async () => {
    const all = await hub.up.admin.list(resources.managedClusters);
    const isReady = ({ status }: { status?: unknown }) =>
      JSON.stringify(status ?? {}).includes('"reason":"Alive"');
    return all.filter(isReady).length === memberCount;
  });
  await until('all sites are held', async () => {
    const found = await Promise.all(newSites.map((name) => hub.request(name)));
    return found.every((request) => request?.status?.result === 'Held');
  });
  const running = started.move();
  return { hub, agents, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
