import { applyManifests, type KubeClient, type KubeObject } from '@rollcall/shared/kubernetes';
import { serviceRoles } from '@rollcall/shared/rights';
import { agentAccount, agentManifest } from '../harness/agent-manifest.ts';
import { serviceUser, startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts';
import { apiSurface, reviews, type RulesReview, type Target, verbs } from './api-surface.ts';

/** The console is no service of the bus; what people do there they do as themselves. */
export const users: readonly string[] = [...Object.keys(serviceRoles), 'admission-probe', 'console'];
/** Of a member, which is a cluster of its own; here it is the same one. */
export const agent = 'agent';
export const namespaces = [
  'default',
  'kube-system',
  'rollcall-join',
  'rollcall-kubeconfigs',
  'rollcall-agents',
  'rollcall-system',
  'rollcall-agent',
];

/** A real API server that is asked what each of our users may do. */
export interface KubernetesRights extends AsyncDisposable {
  readonly plane: TestControlPlane;
  /** Every right of a user, as a text of one line each. */
  rightsInText(user: string): Promise<string>;
  isAllowed(
    user: string,
    target: Target,
    more: { verb: string; namespace?: string; name?: string },
  ): Promise<boolean>;
  /** Asks for every verb of every resource. @returns those that are answered otherwise than by the user's list of rights */
  answeredOtherwise(user: string): Promise<{ asked: number; wrong: string[] }>;
}

function accountOf(name: string): { user: string; groups: readonly string[] } {
  if (name === agent) return agentAccount;
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:rollcall-system', 'system:authenticated'];
  return { user: serviceUser(name), groups };
}

const lineOf = (verb: string, group: string, resource: string, name?: string): string =>
  `${verb} ${group === '' ? '' : `${group}/`}${resource}${name === undefined ? '' : ` "${name}"`}`;

/** Every right of a user in a namespace, one a line: by the API server's own list of its rules. */
async function rightsIn(client: KubeClient, namespace: string): Promise<Set<string>> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    metadata: {},
    spec: { namespace },
  };
  const { status } = (await client.create(reviews.rules, review as never)) as unknown as RulesReview;
  const lines = status.resourceRules.flatMap(
    ({ verbs: may, apiGroups = [], resources = [], resourceNames }) =>
      may.flatMap((verb) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) =>
            (resourceNames ?? [undefined]).map((name) => lineOf(verb, group, resource, name)),
          ),
        ),
      ),
  );
  const paths = status.nonResourceRules.flatMap(({ verbs: may, nonResourceURLs = [] }) =>
    may.flatMap((verb) => nonResourceURLs.map((path) => `${verb} ${path}`)),
  );
  return new Set([...lines, ...paths]);
}

interface RightsOf {
  readonly everywhere: ReadonlySet<string>;
  readonly more: ReadonlyMap<string, ReadonlySet<string>>;
}

function inText({ everywhere, more }: RightsOf): string {
  const sections = [['everywhere', everywhere] as const, ...more].filter(([, lines]) => lines.size > 0);
  if (sections.length === 0) return 'nothing\n';
  return sections
    .map(
      ([where, lines]) =>
        `${where}:\n${[...lines]
          .toSorted()
          .map((line) => `  ${line}\n`)
          .join('')}`,
    )
    .join('');
}

/** Many at a time, in the order of the list. */
export async function mapParallel<In, Out>(
  all: readonly In[],
  work: (one: In) => Promise<Out>,
): Promise<Out[]> {
  const results: Out[] = [];
  for (let at = 0; at < all.length; at += 64) {
    results.push(...(await Promise.all(all.slice(at, at + 64).map(work))));
  }
  return results;
}

export async function startKubernetesRights(): Promise<KubernetesRights> {
  const plane = await startTestControlPlane({ withWorkloads: true });
  await applyManifests(plane.admin, [agentManifest()]);
  const surface: readonly Target[] = await apiSurface(plane.admin);
  const nobody = plane.clientFor('nobody', accountOf('nobody').groups);
  /** What everybody who is authenticated may do anyway: to ask what one may do, and to discover. */
  const everybody: ReadonlySet<string> = await rightsIn(nobody, 'default');
  nobody.close();

  /** What a user may everywhere, and what more in a namespace. */
  async function rightsOf(name: string): Promise<RightsOf> {
    const { user, groups } = accountOf(name);
    const client = plane.clientFor(user, groups);
    const found = new Map<string, Set<string>>();
    for (const namespace of namespaces) {
      found.set(namespace, (await rightsIn(client, namespace)).difference(everybody));
    }
    client.close();
    const everywhere = [...found.values()].reduce((one, other) => one.intersection(other));
    return {
      everywhere,
      more: new Map([...found].map(([namespace, all]) => [namespace, all.difference(everywhere)])),
    };
  }

  async function isAllowed(
    user: string,
    target: Target,
    more: { verb: string; namespace?: string; name?: string },
  ) {
    const [resource, subresource] = target.resource.split('/');
    const account = accountOf(user);
    const spec = {
      user: account.user,
      groups: account.groups,
      resourceAttributes: { group: target.group, resource, subresource, ...more },
    };
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      metadata: {},
      spec,
    } as KubeObject;
    const { status } = (await plane.admin.create(reviews.access, review)) as {
      status?: { allowed?: boolean };
    };
    return status?.allowed === true;
  }

  return {
    plane,
    rightsInText: async (user) => inText(await rightsOf(user)),
    isAllowed,
    async answeredOtherwise(user) {
      const { everywhere } = await rightsOf(user);
      const asked = surface.flatMap((target) => verbs.map((verb) => ({ target, verb })));
      const answers = await mapParallel(asked, ({ target, verb }) => isAllowed(user, target, { verb }));
      const wrong = asked.flatMap(({ target, verb }, at) => {
        const line = lineOf(verb, target.group, target.resource);
        return answers[at] === (everywhere.has(line) || everybody.has(line)) ? [] : [line];
      });
      return { asked: asked.length, wrong };
    },
    [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose](),
  };
}
