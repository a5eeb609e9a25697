import { crdOf, type Kind, kinds, labels } from '@rollcall/shared/resources';
import type { Generated } from './generated-file.ts';

/** What this page reads of a structural schema. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-validations'?: readonly { readonly rule: string; readonly message: string }[];
}

interface Crd {
  readonly spec: {
    readonly versions: readonly [{ readonly schema: { readonly openAPIV3Schema: Schema } }];
  };
}

/** A pipe would end the cell of a table. */
const cell = (text: string) => text.replaceAll('|', String.raw`\|`);

function typeText(schema: Schema): string {
  if (schema['x-kubernetes-int-or-string']) return 'integer or text';
  if (schema.enum) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (schema.type === 'array') return `list of ${schema.items ? typeText(schema.items) : 'anything'}`;
  if (schema.additionalProperties) return `map of ${typeText(schema.additionalProperties)}`;
  return schema.type === 'string' ? 'text' : (schema.type ?? 'anything');
}

/** One row a field, parents before children; `[]` marks the entries of a list. */
function fieldRows(schema: Schema, path: string): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const place = path === '' ? name : `${path}.${name}`;
    const isRequired = schema.required?.includes(name) && field.default === undefined;
    const standing =
      field.default === undefined ? (isRequired ? 'required' : '') : `\`${JSON.stringify(field.default)}\``;
    const row = `| \`${place}\` | ${typeText(field)} | ${standing} | ${cell(field.description ?? '')} |`;
    // Conditions are the same everywhere and stand in a table of their own.
    if (name === 'conditions') return [row];
    return [row, ...fieldRows(field, place), ...fieldRows(field.items ?? {}, `${place}[]`)];
  });
}

/** What the API server refuses, in its own words. */
function refusals(schema: Schema): string[] {
  const own = (schema['x-kubernetes-validations'] ?? []).map(({ message }) => message);
  const nested = [...Object.values(schema.properties ?? {}), ...(schema.items ? [schema.items] : [])];
  return [...new Set([...own, ...nested.flatMap(refusals)])];
}

function table(schema: Schema | undefined, path: string): string {
  const header = '| field | type | default, or required | |\n| --- | --- | --- | --- |';
  return [header, ...fieldRows(schema ?? {}, path)].join('\n');
}

const schemaOf = (kind: Kind) =>
  (crdOf(kind) as unknown as Crd).spec.versions[0].schema.openAPIV3Schema.properties ?? {};

function columnsText({ columns, selectableFields }: Kind): string {
  const names = (isWide: boolean) =>
    columns.filter(({ wide = false }) => wide === isWide).map(({ name }) => name.toUpperCase());
  const wide = names(true);
  const plain = `Columns: ${['NAME', ...names(false)].join(', ')}.`;
  const all = wide.length === 0 ? plain : `${plain} With \`-o wide\` also ${wide.join(', ')}.`;
  const fields = selectableFields?.map((path) => `\`${path.slice(1)}\``).join(', ');
  return fields === undefined ? all : `${all} \`--field-selector\` takes ${fields}.`;
}

function section(kind: Kind): string {
  const { spec, status } = schemaOf(kind);
  const wrong = [...(kind.rules ?? []).map(({ message }) => message), ...refusals(spec ?? {})];
  const scope = kind.scope === 'Cluster' ? 'in no namespace' : 'in a namespace';
  return `## ${kind.kind}

${kind.description}

\`${kind.plural}.rollcall.dev\`, short ${kind.shortNames.map((name) => `\`${name}\``).join(', ')}; ${scope}.
${columnsText(kind)}

${table(spec, 'spec')}

${table(status, 'status')}

The API server refuses what breaks one of these rules:

${wrong.map((message) => `- ${message}`).join('\n')}
`;
}

function conditionsSection(): string {
  const { status } = schemaOf(kinds[0]);
  return `## Conditions

The entries of \`status.conditions\` are the same in every kind.

${table(status?.properties?.['conditions']?.items, '')}
`;
}

/** Our kinds field by field, in docs/resources.md. */
export function resourceDocs(): Generated {
  const text = `# Resources

The six kinds of API group \`rollcall.dev\`, version \`v1alpha1\`. This page is made from \`libs/shared/resources/\` by \`npm run generate\`, as the
CRDs in \`deploy/crds/\` are; a test fails when it is stale. \`kubectl explain\` shows the same. All kinds are in category \`rollcall\`.

Other systems use the same short names. The full ones, such as \`managedclusters.rollcall.dev\`, always mean ours.

${[...kinds.map(section), conditionsSection()].join('\n')}
## Labels

| label | |
| --- | --- |
${Object.values(labels)
  .map((label) => `| \`${label}\` | ${labelMeaning[label]} |`)
  .join('\n')}
`;
  return { folder: 'docs', extension: 'resources.md', files: new Map([['resources.md', text]]) };
}

const labelMeaning: Readonly<Record<(typeof labels)[keyof typeof labels], string>> = {
  [labels.clusterId]: 'stable identity of the cluster',
  [labels.clusterName]: 'its name on the hub',
  [labels.registeredBy]: '`agent` or `hub`: who asked for it first',
  [labels.createdBy]: '`projector` or `rbac-provisioner`: who made this object',
  [labels.clusterSet]:
    'its set; changing it needs `create` on `managedclustersets/join` for the old and the new set',
};
