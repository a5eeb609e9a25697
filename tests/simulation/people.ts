import type { StoredEvent } from '@rollcall/shared/events';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { apiVersion } from '@rollcall/shared/resources';
import type { Nkey } from '@rollcall/shared/trust';
import type { Agent, MemberPlan } from './agent.ts';
import { type Agents, poolKey } from './agents.ts';
import type { World } from './world.ts';

type Json = Record<string, unknown>;

const policies: readonly Json[][] = [
  [{ name: 'valid-token', when: 'token.valid', effect: 'Approve', access: 'Namespace' }],
  [
    {
      name: 'valid-token',
      when: 'token.valid',
      effect: 'Approve',
      access: 'Namespace',
      labels: { given: 'yes' },
    },
  ],
  [{ name: 'blue', when: "request.clusterName.startsWith('blue')", effect: 'Approve' }],
  [{ name: 'wait', when: "request.clusterName == 'blue'", effect: 'Hold' }],
  [{ name: 'no', when: "request.clusterName == 'red'", effect: 'Deny' }],
  [{ name: 'fails', when: "claimed.region == 'eu'", effect: 'Approve' }],
  [{ name: 'broken', when: 'token.vlid', effect: 'Approve' }],
  [
    { name: 'ok', when: 'token.valid && !verified.keyChanged', effect: 'Approve' },
    { name: 'no', when: "request.clusterName == 'green'", effect: 'Deny', reason: 'no green' },
  ],
];
const policyNames = ['default', 'second'];
const clusterIds = ['c-1', 'c-2', 'c-3'];
const clusterNames = ['blue', 'red', 'green'];
const actions = [
  'token',
  'token',
  'token gone',
  'policy',
  'policy gone',
  'decide',
  'decide',
  'decide',
  'accepts',
  'accepts',
  'leave',
  'leave',
  'label',
  'cordon',
  'vanish',
  'new member',
] as const;

/** What a person said last by a label of an object, and how many events there were then. */
export interface SaidLabel {
  readonly team: string | null;
  readonly afterSequence: number;
}

/** What people do in Kubernetes, and where they run agents: at random, and always as the API server would let them. */
export class People {
  /** By the uid of the ManagedCluster. */
  readonly said = new Map<string, SaidLabel>();
  readonly #world: World;
  readonly #agents: Agents;
  readonly #tokens: Nkey[] = [];
  /** What somebody does as soon as so many events are there. */
  readonly #provoked = new Map<number, () => void>();
  #events = 0;
  readonly #habits: readonly (typeof actions)[number][];
  #count = 0;

  constructor(world: World, agents: Agents) {
    this.#world = world;
    this.#agents = agents;
    const { random } = world;
    this.#habits = Array.from({ length: random.int(1, 4) }, () => random.pick(actions));
  }

  /** Half of what is done comes at any time, the other half right after something has happened: there most races are. */
  plan(untilMs: number): void {
    const { random, scheduler, size } = this.#world;
    const some = () => random.int(0, size.acts);
    const doings = [
      ...Array.from({ length: some() }, () => () => this.act()),
      ...Array.from({ length: some() }, () => () => this.strike()),
    ];
    for (const doing of doings) {
      if (random.chance(0.5)) scheduler.after(random.int(200, untilMs), doing);
      else this.#provoked.set(random.int(3, 20), doing);
    }
  }

  saw({ type, id }: StoredEvent): void {
    const { random, scheduler } = this.#world;
    if (type === 'left' && random.chance(0.5)) this.#installAgain(id);
    const doing = this.#provoked.get(++this.#events);
    if (doing) scheduler.after(random.int(0, 20), doing);
  }

  /** The first day of a hub: mostly a policy that approves, a token or two, and some clusters. */
  begin(): void {
    const { random, size } = this.#world;
    if (random.chance(0.8))
      this.#writePolicy('default', random.chance(0.7) ? policies[0] : random.pick(policies));
    for (let count = random.int(1, 2); count > 0; count--) this.#makeToken();
    for (let count = random.pick<number>(size.members); count > 0; count--) this.#newMember();
  }

  act(): void {
    const { random, kube } = this.#world;
    // Each seed repeats a few things: what comes of leaving twice is seldom seen among everything else.
    const action = random.pick(random.chance(0.8) ? this.#habits : actions);
    switch (action) {
      case 'token':
        return this.#makeToken();
      case 'token gone': {
        const [token] = kube.list('clusterregistrationtokens');
        if (token) this.#remove(resources.clusterRegistrationTokens, token);
        return;
      }
      case 'policy':
        return this.#writePolicy(random.pick(policyNames), random.pick(policies));
      case 'policy gone': {
        const [policy] = kube.list('approvalpolicies');
        if (policy) this.#remove(resources.approvalPolicies, policy);
        return;
      }
      case 'decide':
        return this.#decide();
      case 'vanish': {
        const plural = random.pick(['clusterregistrationrequests', 'managedclusters']);
        const [object] = kube.list(plural);
        if (!object) return;
        this.#say(`loses ${plural} ${object.metadata.name} without an operation`);
        return kube.vanish(plural, object.metadata.name);
      }
      case 'new member':
        return this.#newMember();
      default:
        return this.#operation(action);
    }
  }

  /** What happens to agents: they restart, get new keys, or a copy of their member comes up. */
  strike(): void {
    const { random, faults } = this.#world;
    const running = this.#agents.running();
    if (running.length === 0) return;
    const agent = random.pick(running);
    if (faults.strikes('agent.restarts')) agent.restart(random.chance(0.5));
    if (faults.strikes('agent.reinstalled')) {
      if (random.chance(0.5)) agent.sayGoodbye();
      agent.stop('is removed');
      this.#agents.install(agent.plan, this.#anyToken());
    }
    if (faults.strikes('agent.rotates')) agent.rotate(this.#agents.newKey());
    if (faults.strikes('agent.leaves')) agent.leave();
    if (faults.strikes('agent.changes'))
      agent.moveTo(random.chance(0.3) ? undefined : random.pick(['eu', 'us']));
    if (faults.strikes('agent.cloned')) this.#agents.install(agent.plan, this.#anyToken());
    if (faults.strikes('agent.copied-to-another')) this.#copyToAnother(agent);
  }

  /** Whoever has left comes back at once, with a new key, while the hub may still be busy with its leaving. */
  #installAgain(clusterId: string): void {
    const { random, scheduler } = this.#world;
    const former = this.#agents.all.find(({ plan }) => plan.clusterId === clusterId);
    if (former && this.#agents.all.length < 8)
      scheduler.after(random.int(0, 20), () => this.#agents.install(former.plan, this.#anyToken()));
  }

  /** Somebody takes the keys of an agent along to another cluster: it asks with them as that one. */
  #copyToAnother({ key }: Agent): void {
    const { all } = this.#agents;
    const clusterId = clusterIds.find(
      (id) => !all.some((agent) => agent.key === key && agent.plan.clusterId === id),
    );
    if (clusterId === undefined || all.length >= 6) return;
    this.#makeToken();
    this.#agents.install({ clusterId, clusterName: `n-${++this.#count}` }, this.#tokens.at(-1), key);
  }

  #say(what: string): void {
    this.#world.note('a person', () => what);
  }

  #anyToken(): Nkey | undefined {
    const { random } = this.#world;
    return this.#tokens.length === 0 ? undefined : random.pick(this.#tokens);
  }

  #newMember(): void {
    const { random } = this.#world;
    if (this.#agents.all.length >= 6) return;
    const plan: MemberPlan = {
      clusterId: random.pick(clusterIds),
      clusterName: random.chance(0.6) ? `n-${++this.#count}` : random.pick(clusterNames),
    };
    this.#agents.install(plan, this.#anyToken());
  }

  #makeToken(): void {
    const { random, kube } = this.#world;
    const number = 1000 + this.#tokens.length;
    if (this.#tokens.length >= 5) return;
    const key = poolKey(number);
    const name = `t-${number}`;
    const uses = random.pick([1, 1, 1, 2, 'unlimited'] as const);
    const ttl = random.chance(0.1) ? '30s' : '24h';
    this.#say(`makes token ${name}, uses ${uses}, ttl ${ttl}`);
    this.#tokens.push(key);
    kube.create(resources.clusterRegistrationTokens, {
      apiVersion,
      kind: 'ClusterRegistrationToken',
      metadata: { name, namespace: 'rollcall-join' },
      spec: {
        publicKey: key.publicKey,
        ttl,
        uses,
        ...(random.chance(0.15) ? { clusterName: 'n-*' } : {}),
        ...(random.chance(0.3) ? { labels: { from: name }, allowLabels: ['team'] } : {}),
      },
    });
  }

  #writePolicy(name: string, rules: readonly Json[] | undefined): void {
    const { kube } = this.#world;
    this.#say(`writes policy ${name}: ${JSON.stringify(rules)}`);
    const spec = { rules };
    if (kube.get('approvalpolicies', name)) {
      kube.patch(resources.approvalPolicies, { name }, { spec });
      return;
    }
    kube.create(resources.approvalPolicies, { apiVersion, kind: 'ApprovalPolicy', metadata: { name }, spec });
  }

  #remove(resource: (typeof resources)[keyof typeof resources], { metadata }: KubeObject): void {
    const { name = '', namespace } = metadata;
    this.#say(`deletes ${resource.plural} ${name}`);
    this.#world.kube.delete(resource, name, { namespace });
  }

  #decide(): void {
    const { random, kube } = this.#world;
    const requests = kube.list('clusterregistrationrequests');
    if (requests.length === 0) return;
    const { metadata, spec } = random.pick(requests);
    const verdict = random.chance(0.6) ? 'Approve' : 'Deny';
    this.#say(`decides ${verdict} about ${metadata.name}`);
    const decision = {
      verdict,
      keyFingerprint: spec?.['keyFingerprint'],
      by: 'anna',
      reason: `${++this.#count}`,
    };
    kube.patch(resources.clusterRegistrationRequests, { name: metadata.name }, { spec: { decision } });
  }

  #operation(operation: 'accepts' | 'leave' | 'label' | 'cordon'): void {
    const { random, kube, stream } = this.#world;
    const clusters = kube.list('managedclusters');
    if (clusters.length === 0) return;
    const object = random.pick(clusters);
    const { name, uid = '' } = object.metadata;
    if (operation === 'leave') return this.#remove(resources.managedClusters, object);
    const patches = {
      accepts: { spec: { hubAcceptsClient: random.pick([true, false, null]) } },
      label: { metadata: { labels: { team: random.pick(['x', 'y', null]) } } },
      cordon: { spec: { unschedulable: random.chance(0.5) } },
    };
    const { team } = patches.label.metadata.labels;
    if (operation === 'label') this.said.set(uid, { team, afterSequence: stream.stored.length });
    this.#say(`patches managedcluster ${name}: ${JSON.stringify(patches[operation])}`);
    kube.patch(resources.managedClusters, { name }, patches[operation]);
  }
}
