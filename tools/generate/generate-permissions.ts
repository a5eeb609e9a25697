import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  agentRoles,
  type AccountName,
  everyAccount,
  type HubKeys,
  otherRoles,
  purposeOf,
  type Role,
  type RoleAccount,
  roleAccounts,
  serviceRoles,
  simulatedAgentsRole,
  simulatorRole,
} from '@rollcall/shared/rights';
import { isMap, isSeq, parseAllDocuments, type Document, type Node } from 'yaml';
import type { Generated } from './generated-file.ts';

/** Who may do what: docs/security/permissions.md, from the rights table of the bus and from the manifests in deploy/. */

const deploy = join(import.meta.dirname, '..', '..', 'deploy');
const code = (text: string): string => `\`${text}\``;
const row = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const headed = (columns: readonly string[], rows: readonly string[]): string =>
  [row(...columns), row(...columns.map(() => '---')), ...rows].join('\n');

/** Subjects with one purpose share a line; event types are told apart by their last word alone. */
function subjectRows(subjects: readonly string[], verb: 'publish' | 'subscribe'): string[] {
  const byPurpose = Map.groupBy(subjects, (subject) => purposeOf(subject, verb));
  return [...byPurpose].map(([purpose, same]) => row(verb, same.map(code).join(', '), purpose));
}

function busRole([name, role]: [string, Role]): string {
  const rows = [...subjectRows(role.publish, 'publish'), ...subjectRows(role.subscribe, 'subscribe')];
  const answer = role.mayRespond ? ' May answer each request that reaches it once, within 5 s.' : '';
  return `#### ${name}

Account ${role.account}. ${role.description[0]?.toUpperCase()}${role.description.slice(1)}.${answer}

${headed(['may', 'subject', 'what for'], rows)}
`;
}

/** Names in the place of keys: what stands in the claims is then what a person can read. */
const names: HubKeys = {
  sys: 'SYS',
  auth: 'AUTH',
  agents: 'AGENTS',
  hub: 'HUB',
  roles: Object.fromEntries(roleAccounts.map((name) => [name, name])) as Record<RoleAccount, string>,
  hubSigner: '',
  authSigner: '',
  agentSigners: { token: '', returning: '', waiting: '', member: '' },
  calloutUser: '',
  calloutXkey: '',
};

interface Share {
  readonly name: string;
  readonly subject: string;
  readonly type: 'service' | 'stream';
  readonly account?: AccountName;
  readonly local_subject?: string;
}

function accounts(): string {
  const verbs = { service: 'asks', stream: 'hears' };
  const rows = everyAccount(names).flatMap(({ name: account, claims }) => {
    const imports = (claims['imports'] ?? []) as Share[];
    const groups = Map.groupBy(imports, ({ type, account: from = account }) => `${verbs[type]} ${from}`);
    return [...groups].map(([verb, same]) =>
      row(
        account,
        verb,
        same
          .map(({ subject, local_subject: as = subject }) =>
            as === subject ? code(as) : `${code(as)} (there ${code(subject)})`,
          )
          .join(', '),
      ),
    );
  });
  return headed(['account', '', 'subjects'], rows);
}

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

const oneLine = (comment: string): string => comment.replaceAll(/\s*\n\s*/g, ' ').trim();

/** The comment above a rule; above the first one it belongs, for the parser, to the list. */
function reasonOf(list: Node, at: number, where: string): string {
  const rule = isSeq(list) ? (list.items[at] as Node | undefined) : undefined;
  const comment = rule?.commentBefore ?? (at === 0 ? list.commentBefore : undefined);
  if (!comment) throw new Error(`${where}: rule ${at + 1} has no comment that says what it is for`);
  return oneLine(comment);
}

function ruleRow(rule: Rule, why: string): string {
  const group = (rule.apiGroups ?? []).join(', ');
  const what = rule.nonResourceURLs ?? (rule.resources ?? []).map((one) => (group ? `${group}/${one}` : one));
  const only = (rule.resourceNames ?? []).map(code).join(', ');
  return row(rule.verbs.join(', '), what.map(code).join(', '), only, why);
}

function kubeRole(document: Document.Parsed, file: string): string | undefined {
  const { contents } = document;
  const object = document.toJS() as {
    kind: string;
    metadata: { name: string; namespace?: string };
    rules?: Rule[];
  } | null;
  if (!object || !isMap(contents) || !['Role', 'ClusterRole'].includes(object.kind)) return undefined;
  const { kind, metadata, rules = [] } = object;
  const list = contents.get('rules', true) as unknown as Node;
  const rows = rules.map((rule, at) => ruleRow(rule, reasonOf(list, at, `${file} ${metadata.name}`)));
  const about = document.commentBefore ?? contents.commentBefore;
  return `#### ${kind} ${metadata.name}${metadata.namespace ? ` in ${metadata.namespace}` : ''}

${about ? `${oneLine(about)}\n\n` : ''}${headed(['verbs', 'on', 'only', 'what for'], rows)}
`;
}

function kubeRoles(folder: string, files: readonly string[]): string {
  const sections = files.flatMap((file) => {
    const text = readFileSync(join(deploy, folder, file), 'utf8');
    return parseAllDocuments(text).flatMap((document) => kubeRole(document as Document.Parsed, file) ?? []);
  });
  return sections.join('\n');
}

const ofPeople = ['people.yaml', 'member.yaml'];

function permissions(): string {
  const services = readdirSync(join(deploy, 'rbac'))
    .filter((file) => file.endsWith('.yaml') && !ofPeople.includes(file))
    .toSorted();
  return `# Permissions: who may do what

Made by \`npm run generate\` from the rights table (\`libs/shared/rights/\`) and the manifests (\`deploy/rbac/\`, \`deploy/agent/\`); a test fails when
it is stale. Everything that is not listed is refused: \`tests/rights/matrix.test.ts\` asks a real NATS server about every role, subject and
verb, \`tests/rights/can-i.test.ts\` a real API server. What each identity could do in wrong hands: [identities.md](identities.md).

## On the bus

Each role has an allow list for publishing and one for subscribing, and no deny rules. \`*\` is one word, \`>\` the rest. A service fetches from a
consumer that set-up made for it; it can make none.

### Between accounts

${accounts()}

### Agents

\`{{subject()}}\` is the agent's own key, \`{{name()}}\` its cluster id (or, before it has one, its key): the server fills them in. Their rights stand in
the templates of the four scoped signing keys, so who has such a key can give these rights and no others.

${Object.entries(agentRoles).map(busRole).join('\n')}
### Services

${Object.entries(serviceRoles).map(busRole).join('\n')}
### Others

${Object.entries(otherRoles).map(busRole).join('\n')}
${busRole(['simulator', simulatorRole(['<cluster>'])])}
${busRole(['simulated agents', simulatedAgentsRole(['<cluster>'])])}
## In the hub's Kubernetes API

What RBAC gives; the admission policies (\`deploy/admission/\`) take away again what RBAC cannot tell apart. The registrar, the heartbeat service and the account-controller have no
right here at all.

### Services

${kubeRoles('rbac', services)}
### People and members

${kubeRoles('rbac', ofPeople)}
## In a member's Kubernetes API

${kubeRoles('agent', ['rbac.yaml'])}`;
}

export function permissionsDoc(): Generated {
  const files = new Map([['permissions.md', `${permissions().trimEnd()}\n`]]);
  return { folder: 'docs/security', extension: 'permissions.md', files };
}
