import { parseArgs } from 'node:util';
import { RollcallError } from '@rollcall/shared/errors';
import type { AgentForm } from './hub/agent-program.ts';
import { type PartName, partNames, partsByDefault } from './result.ts';

export interface BenchFlags {
  readonly only: readonly PartName[];
  readonly joins: number;
  /** Joins before the measured ones, so that a hub that has run for a while is measured. */
  readonly warmUpJoins: number;
  /** How long nothing changes, to count what is written all the same. */
  readonly steadySeconds: number;
  readonly agentForm: AgentForm;
  /** For the Node that runs an agent. */
  readonly agentNodeFlags: readonly string[];
  /** That come at once. */
  readonly agents: number;
  /** Past ones, that policies are tried on. */
  readonly requests: number;
  /** Clusters that a console shows. */
  readonly shown: number;
  readonly shownSeconds: number;
  /** Of the simulation. */
  readonly seeds: number;
  /** Connections that are cut, in each of two rounds. */
  readonly cuts: number;
  /** Keys that are taken back while they are. */
  readonly revocations: number;
  readonly callouts: number;
  /** Of the hub that is restored. */
  readonly clusters: number;
  readonly floods: string;
  readonly floodRounds: number;
  /** Clusters that leave. */
  readonly leavers: number;
  /** Clusters that leave all at once. */
  readonly leavingAtOnce: number;
  /** Whether their end is waited for. */
  readonly leavingToTheEnd: boolean;
  readonly leavingByThemselves: boolean;
  /** Clusters that the hub reaches by itself, one after the other, of each mode. */
  readonly hosted: number;
  /** Members of one agent host. */
  readonly probes: number;
  /** Of one member. */
  readonly nodes: number;
  /** How long their kubelets report. */
  readonly nodeSeconds: number;
  /** Of a hub on real nodes. */
  readonly installs: number;
  /** That join at once there. */
  readonly members: number;
  /** How long heartbeats are taken, all turns together. */
  readonly heartbeatSeconds: number;
  /** Clusters that a heartbeat service finds when it starts. */
  readonly fleet: number;
  /** Agents that are killed. */
  readonly kills: number;
  /** Agents that fall silent. */
  readonly silences: number;
  /** Agents that lose their hub at once. */
  readonly herd: number;
  /** Agents whose credentials ended while the registrar was away. */
  readonly lapsed: number;
  /** Clusters beside which plain requests are sent. */
  readonly registered: number;
  /** Clusters that only send heartbeats. */
  readonly atRest: number;
  readonly restSeconds: number;
  /** Clusters that Kubernetes shows when a projector starts. */
  readonly objects: number;
  /** Of the soak. */
  readonly minutes: number;
  /** NATS servers of its hub. */
  readonly servers: 1 | 3;
  /** Of its clusters, how many have agents of their own; default: a tenth. */
  readonly real: number | undefined;
  readonly trace: boolean;
  readonly json: boolean;
  readonly save: boolean;
}

export const usage = `npm run bench -- [--only PART,…] [--json] [--save] [flags of the parts]

  --only PART,…        ${partNames.join(', ')}; default: all but soak
  --json               the result as JSON on stdout instead of the table
  --save               also keep it in bench/results/

joins: clusters that join one after the other, each with an agent process of its own that goes on running
  --joins N            how many (50)
  --warm-up N          joins before them that are not measured (3)
  --steady-seconds N   how long the writes of a hub at rest are counted (60)
  --from-source        agents run from the repository's TypeScript, not from what \`npm run build\` makes
  --agent-node-flags='…'   for the Node that runs the agents (as the agent's Deployment has them)
  --trace              also the timeline of the join in the middle
everything: the same (a fifth as many) with nodes, claims, properties, labels of nodes and a set; for what is written
burst: agents that come at once, from one process
  --agents N           how many (300)
policies
  --requests N         past requests that policies are tried on (100000)
cli: how long the CLI takes to start
console: a large fleet that is made up, in a browser (Chromium on PATH)
  --shown N            of how many clusters (100000)
  --shown-seconds N    how long it changes a hundred times a second (60)
simulation
  --seeds N            how many (20000); the first few thousand tell more of V8 getting warm
revocation: connections that are cut, with 10 keys taken back and with many
  --cuts N             how many, each time (100)
  --revocations N      how many are many (10000)
callout: connections with a token, and renewals
  --callouts N         how many of each (2000)
renewal: when 100,000 agents renew
flood: joins of others while one attacks
  --floods TEXT        only the kinds with that in their name (all)
  --flood-rounds N     of five joins at rest, five meanwhile and five beside a burner, for each kind (4)
unregister: clusters that leave, one after the other
  --leavers N          how many (30)
leaving: clusters that leave all at once, and what is there of them afterwards
  --leaving-at-once N  how many (1000)
  --by-themselves      their agents ask to leave; else a person deletes them
  --joins-beside-only  not to the end: it takes 2 s for nine of them
  --trace              also the timelines of the slowest joins
hosted: clusters that the hub reaches by itself
  --hosted N           joins one after the other, in mode Push and in mode Pull (20)
  --probes N           members that one agent host is the agent of (1000)
nodes: what a member of many nodes costs its agent
  --nodes N            how many (5000)
  --node-seconds N     how long their kubelets report, and nothing changes (30)
nodes-install: a hub of the charts on real nodes (as root on Linux; tests/nodes/README.md)
  --installs N         clean installs, and rounds of all else (5)
  --members N          that join at once (1000)
restore: a hub from its backup, on an empty machine
  --clusters N         of how many clusters (10000)
heartbeats: of 10,000, 100,000 and 1,000,000 clusters, taken by a heartbeat service each, in turns
  --seconds N          how long, all turns together (60)
restart: a heartbeat service that starts on a hub with many clusters, and what they take there
  --fleet N            how many (100000); a hundredth and a tenth of it as well
liveness: agents that die
  --kills N            how many are killed (50)
  --silences N         how many fall silent (20)
durability: the same joins with one server and three, each with sync_interval: always and without
replicas: the same joins with one and two processes of each service
requests: plain requests to an API server without clusters, and with many
  --registered N       how many (20000)
rest: what is written to Kubernetes of a fleet that only heartbeats
  --at-rest N          of how many clusters (10000)
  --rest-seconds N     for how long (600)
projector: one that starts on a hub all of whose clusters are shown
  --objects N          how many (100000)
herd: agents that lose their hub all at once, and come back
  --herd N             how many (4000)
lapsed: agents whose credentials have ended, when the registrar is back
  --lapsed N           how many (2000)
soak: a fleet that lives on a hub whose processes are killed (\`npm run soak\`)
  --minutes N          for how long (60)
  --clusters N         how many clusters (10000)
  --real N             with agents of their own (a tenth)
  --servers 1|3        NATS servers (1)
`;

/**
 * @returns undefined when help was asked for
 * @throws RollcallError USAGE
 */
export function parseBenchFlags(args: readonly string[]): BenchFlags | undefined {
  const values = parseKnown(args);
  if (values.help) return undefined;
  return {
    only: partsOf(values.only),
    joins: wholeNumber('--joins', values.joins, 1),
    warmUpJoins: wholeNumber('--warm-up', values['warm-up'], 0),
    steadySeconds: wholeNumber('--steady-seconds', values['steady-seconds'], 1),
    agentForm: values['from-source'] ? 'source' : 'compiled',
    agentNodeFlags: values['agent-node-flags'].split(' ').filter(Boolean),
    agents: wholeNumber('--agents', values.agents, 1),
    requests: wholeNumber('--requests', values.requests, 1),
    shown: wholeNumber('--shown', values.shown, 1),
    shownSeconds: wholeNumber('--shown-seconds', values['shown-seconds'], 1),
    seeds: wholeNumber('--seeds', values.seeds, 1),
    cuts: wholeNumber('--cuts', values.cuts, 1),
    revocations: wholeNumber('--revocations', values.revocations, 1),
    callouts: wholeNumber('--callouts', values.callouts, 1),
    clusters: wholeNumber('--clusters', values.clusters, 1),
    floods: values.floods,
    floodRounds: wholeNumber('--flood-rounds', values['flood-rounds'], 1),
    leavers: wholeNumber('--leavers', values.leavers, 1),
    leavingAtOnce: wholeNumber('--leaving-at-once', values['leaving-at-once'], 1),
    leavingToTheEnd: values['joins-beside-only'] !== true,
    leavingByThemselves: values['by-themselves'] === true,
    hosted: wholeNumber('--hosted', values.hosted, 1),
    probes: wholeNumber('--probes', values.probes, 1),
    nodes: wholeNumber('--nodes', values.nodes, 1),
    nodeSeconds: wholeNumber('--node-seconds', values['node-seconds'], 1),
    installs: wholeNumber('--installs', values.installs, 1),
    members: wholeNumber('--members', values.members, 1),
    heartbeatSeconds: wholeNumber('--seconds', values.seconds, 1),
    fleet: wholeNumber('--fleet', values.fleet, 1),
    kills: wholeNumber('--kills', values.kills, 1),
    silences: wholeNumber('--silences', values.silences, 1),
    herd: wholeNumber('--herd', values.herd, 1),
    lapsed: wholeNumber('--lapsed', values.lapsed, 1),
    registered: wholeNumber('--registered', values.registered, 1),
    atRest: wholeNumber('--at-rest', values['at-rest'], 1),
    restSeconds: wholeNumber('--rest-seconds', values['rest-seconds'], 1),
    objects: wholeNumber('--objects', values.objects, 2),
    minutes: wholeNumber('--minutes', values.minutes, 1),
    servers: serversOf(values.servers),
    real: values.real === undefined ? undefined : wholeNumber('--real', values.real, 1),
    trace: values.trace,
    json: values.json,
    save: values.save,
  };
}

function parseKnown(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', default: partsByDefault.join(',') },
        joins: { type: 'string', default: '50' },
        agents: { type: 'string', default: '300' },
        requests: { type: 'string', default: '100000' },
        shown: { type: 'string', default: '100000' },
        'shown-seconds': { type: 'string', default: '60' },
        seeds: { type: 'string', default: '20000' },
        cuts: { type: 'string', default: '100' },
        revocations: { type: 'string', default: '10000' },
        callouts: { type: 'string', default: '2000' },
        clusters: { type: 'string', default: '10000' },
        floods: { type: 'string', default: '' },
        'flood-rounds': { type: 'string', default: '4' },
        leavers: { type: 'string', default: '30' },
        'leaving-at-once': { type: 'string', default: '1000' },
        'joins-beside-only': { type: 'boolean', default: false },
        'by-themselves': { type: 'boolean', default: false },
        hosted: { type: 'string', default: '20' },
        probes: { type: 'string', default: '1000' },
        nodes: { type: 'string', default: '5000' },
        'node-seconds': { type: 'string', default: '30' },
        installs: { type: 'string', default: '5' },
        members: { type: 'string', default: '1000' },
        seconds: { type: 'string', default: '60' },
        fleet: { type: 'string', default: '100000' },
        kills: { type: 'string', default: '50' },
        silences: { type: 'string', default: '20' },
        herd: { type: 'string', default: '4000' },
        lapsed: { type: 'string', default: '2000' },
        registered: { type: 'string', default: '20000' },
        'at-rest': { type: 'string', default: '10000' },
        'rest-seconds': { type: 'string', default: '600' },
        objects: { type: 'string', default: '100000' },
        minutes: { type: 'string', default: '60' },
        servers: { type: 'string', default: '1' },
        real: { type: 'string' },
        'warm-up': { type: 'string', default: '3' },
        'steady-seconds': { type: 'string', default: '60' },
        'from-source': { type: 'boolean', default: false },
        // As in deploy/agent/deployment.yaml.
        'agent-node-flags': { type: 'string', default: '--max-semi-space-size=1' },
        trace: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        save: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (cause) {
    throw new RollcallError('USAGE', (cause as Error).message, { cause });
  }
}

/** In the order of `partNames`, whatever order they are given in. */
function partsOf(text: string): PartName[] {
  const given = text.split(',');
  const unknown = given.find((name) => !partNames.some((part) => part === name));
  if (unknown === undefined) return partNames.filter((part) => given.includes(part));
  throw new RollcallError('USAGE', `--only "${unknown}" is none of ${partNames.join(', ')}`);
}

function serversOf(text: string): 1 | 3 {
  if (text === '1' || text === '3') return text === '1' ? 1 : 3;
  throw new RollcallError('USAGE', `--servers "${text}" is neither 1 nor 3`);
}

function wholeNumber(flag: string, text: string, least: number): number {
  const value = Number(text);
  if (/^\d{1,6}$/.test(text) && value >= least) return value;
  throw new RollcallError('USAGE', `${flag} "${text}" is no whole number of ${least} or more`);
}
