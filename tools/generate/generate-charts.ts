import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rollcallVersion } from '@rollcall/shared/service';
import { stringify } from 'yaml';
import { z } from 'zod';
import { agentRules, agentValuesSchema } from '../../cli/install/agent/agent-values.ts';
import type { Condition } from '../../cli/install/condition.ts';
import { deployTemplates } from '../../cli/install/deploy-templates.ts';
import { hubRules, hubValuesSchema } from '../../cli/install/hub/hub-values.ts';
import type { Marker, TemplatePart } from '../../cli/install/template.ts';
import { ruleConditions, type ValuesRule } from '../../cli/install/values.ts';
import { hubLookups, ownershipText } from './chart-lookups.ts';
import { crdFiles } from './generate-crds.ts';
import type { Generated } from './generated-file.ts';

interface Chart {
  /** Of the chart, and of its templates in deploy/. */
  readonly name: string;
  readonly description: string;
  readonly kubeVersion: string;
  /** Names in the manifests and rights of the agent itself depend on it. */
  readonly namespace: string;
  /** A Deployment of it, and the ServiceAccount of that. */
  readonly main: string;
  readonly schema: z.ZodObject;
  readonly rules: readonly ValuesRule[];
  /** What its cluster must and must not have, for Helm. */
  readonly lookups: string;
  /** Namespace of the release, which Helm makes in its own way. */
  readonly without: string;
  /** Folders of deploy/ with manifests that are the same for everybody, and the values that all have to be set for them. */
  readonly fixed: readonly {
    readonly folder: readonly string[];
    readonly onlyWith: readonly string[];
    /** A kind that others may have made: then it is theirs. */
    readonly unlessKind?: string;
  }[];
}

const charts: readonly Chart[] = [
  {
    name: 'agent',
    description: 'The agent of Rollcall: registers this cluster with a hub and keeps it registered.',
    kubeVersion: '>=1.28.0-0',
    namespace: 'rollcall-agent',
    main: 'rollcall-agent',
    schema: agentValuesSchema,
    rules: agentRules,
    lookups: '',
    without: '00-namespace.yaml',
    fixed: [],
  },
  {
    name: 'hub',
    description:
      'The hub of Rollcall: NATS, the services, their kinds and rights, and the admission policies around them.',
    kubeVersion: '>=1.30.0-0',
    namespace: 'rollcall-system',
    main: 'rollcall-registrar',
    schema: hubValuesSchema,
    rules: hubRules,
    lookups: hubLookups(),
    without: '00-namespaces.yaml',
    fixed: [
      { folder: ['crds'], onlyWith: ['parts.kubernetes'] },
      {
        folder: ['inventory'],
        onlyWith: ['parts.kubernetes'],
        unlessKind: 'clusterprofiles.multicluster.x-k8s.io',
      },
      { folder: ['rbac'], onlyWith: ['parts.kubernetes'] },
      { folder: ['admission'], onlyWith: ['parts.kubernetes'] },
      { folder: ['admission', 'attribution'], onlyWith: ['parts.kubernetes', 'attribution'] },
    ],
  },
];

const header = '# Derived from deploy/ and cli/install/ by `npm run generate`; do not edit.\n';
/** `$`: also inside of loops, where Helm's dot is something else. */
function value(path: string, locals: readonly string[] = []): string {
  if (path === 'version') return '$.Chart.AppVersion';
  if (locals.includes(path.split('.')[0] ?? '')) return `$${path}`;
  if (!path.includes('-')) return `$.Values.${path}`;
  const keys = path.split('.').map((key) => JSON.stringify(key));
  return `(index $.Values ${keys.join(' ')})`;
}

function conditionText({ path, isNegated, is, equals }: Condition, locals: readonly string[] = []): string {
  const what = value(path, locals);
  const words =
    equals === undefined
      ? is?.map((word) => JSON.stringify(word)).join(' ')
      : `(toString ${value(equals, locals)})`;
  const condition = words === undefined ? what : `(eq (toString ${what}) ${words})`;
  return isNegated ? `not ${condition}` : condition;
}

function markerText({ paths, filter }: Marker, locals: readonly string[]): string {
  const [first = ''] = paths;
  switch (filter) {
    case 'sha256': {
      const texts = paths.map((path) => value(path, locals)).join(' ');
      return `{{ printf "${paths.map(() => '%s').join(String.raw`\n`)}" ${texts} | sha256sum | toJson }}`;
    }
    case 'pairs':
      return [
        '{{ $pairs := list }}',
        `{{ range $key, $value := ${value(first, locals)} }}`,
        '{{ $pairs = append $pairs (printf "%s=%s" $key $value) }}{{ end }}',
        '{{ join "," $pairs | toJson }}',
      ].join('');
    case 'keys':
      return `{{ keys ${value(first, locals)} | sortAlpha | join "," | toJson }}`;
    case 'commas':
      return `{{ join "," ${value(first, locals)} | toJson }}`;
    case 'host':
      return `{{ splitList ":" ${value(first, locals)} | first | toJson }}`;
    default:
      return `{{ ${value(first, locals)} | toJson }}`;
  }
}

/** @throws Error for a template with braces of its own: Helm would read them */
function helmText(parts: readonly TemplatePart[], locals: readonly string[] = []): string {
  return parts
    .map((part) => {
      switch (part.kind) {
        case 'text':
          if (part.text.includes('{{')) throw new Error(`"${part.text.trim()}" means something to Helm`);
          return part.text;
        case 'value':
          return markerText(part.marker, locals);
        case 'words': {
          const form = part.pieces.map((piece) => ('plain' in piece ? piece.plain : '%v')).join('');
          const texts = part.pieces.flatMap((piece) => ('path' in piece ? [value(piece.path, locals)] : []));
          return `{{ printf ${JSON.stringify(form)} ${texts.join(' ')} | toJson }}`;
        }
        case 'loop': {
          const body = helmText(part.body, [...locals, part.key, part.item]);
          return `{{- range $${part.key}, $${part.item} := ${value(part.path, locals)} }}\n${body}{{- end }}\n`;
        }
        case 'each':
          return `${part.indent}{{- range ${value(part.path, locals)} }}\n${part.indent}- {{ . | toJson }}\n${part.indent}{{- end }}\n`;
        default: {
          const body = helmText(part.body, locals);
          return `{{- if ${conditionText(part.condition, locals)} }}\n${body}{{- end }}\n`;
        }
      }
    })
    .join('');
}

/** The CRDs as they are being generated beside, not as they were. */
function textsIn(folder: readonly string[]): (readonly [string, string])[] {
  if (folder.join('/') === 'crds') return [...crdFiles().files];
  const directory = join(import.meta.dirname, '..', '..', 'deploy', ...folder);
  const files = readdirSync(directory).filter((file) => file.endsWith('.yaml'));
  return files.map((file) => [file, readFileSync(join(directory, file), 'utf8')] as const);
}

/** @throws Error as `helmText` does */
function fixedFiles({ fixed, without }: Chart): (readonly [string, string])[] {
  return fixed.flatMap(({ folder, onlyWith, unlessKind }) => {
    const files = textsIn(folder).filter(([file]) => file !== without);
    return files.map(([file, manifest]) => {
      const text = helmText([{ kind: 'text', text: manifest }]);
      const found = `(lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "${unlessKind}")`;
      const unless = unlessKind === undefined ? [] : [`(not ${found})`];
      const asked = [...onlyWith.map((path) => value(path)), ...unless].join(' ');
      return [`${folder.join('-')}-${file}`, `${header}{{- if and ${asked} }}\n${text}{{- end }}\n`] as const;
    });
  });
}

/** What a schema cannot say in words that help; the same words as `rollcall install` has. */
function rulesText(chart: Chart): string {
  const { namespace, rules } = chart;
  const where = `install it with --namespace ${namespace} --create-namespace`;
  const failures = rules.map((rule) => {
    const conditions = ruleConditions(rule).map((one) => `(${conditionText(one)})`);
    return `{{- if and ${conditions.join(' ')} }}\n{{- fail ${JSON.stringify(rule.message)} }}\n{{- end }}\n`;
  });
  return [
    header,
    `{{- if ne .Release.Namespace "${namespace}" }}\n{{- fail "${where}" }}\n{{- end }}\n`,
    ...failures,
    ownershipText(chart),
    chart.lookups,
  ].join('');
}

/** Each value with what it is for above it. */
function valuesText(schema: z.ZodObject): string {
  const defaults = schema.parse({});
  const entries = Object.entries(schema.shape).map(([name, field]) => {
    const { description = '' } = field as z.ZodType;
    return `# ${description}\n${stringify({ [name]: defaults[name] }, { lineWidth: 0 })}`;
  });
  return [header, ...entries].join('\n');
}

function schemaText(schema: z.ZodObject): string {
  const json = z.toJSONSchema(schema, { target: 'draft-7', io: 'input', unrepresentable: 'any' });
  // Helm hands it to every chart that is part of another one.
  const properties = { ...json.properties, global: { type: 'object' } };
  return `${JSON.stringify({ ...json, properties }, undefined, 2)}\n`;
}

function filesOf(chart: Chart): Generated[] {
  const folder = `deploy/charts/${chart.name}`;
  const about = {
    apiVersion: 'v2',
    name: `rollcall-${chart.name}`,
    description: chart.description,
    type: 'application',
    version: rollcallVersion,
    appVersion: rollcallVersion,
    kubeVersion: chart.kubeVersion,
  };
  const templates = deployTemplates(chart.name)
    .filter(({ name }) => name !== chart.without)
    .map(({ name, parts }) => [name, header + helmText(parts)] as const);
  return [
    {
      folder,
      extension: '.yaml',
      files: new Map([
        ['Chart.yaml', header + stringify(about)],
        ['values.yaml', valuesText(chart.schema)],
      ]),
    },
    { folder, extension: '.json', files: new Map([['values.schema.json', schemaText(chart.schema)]]) },
    {
      folder: `${folder}/templates`,
      extension: '.yaml',
      files: new Map([['00-rules.yaml', rulesText(chart)], ...templates, ...fixedFiles(chart)]),
    },
  ];
}

/** The Helm charts, out of the same templates and values that `rollcall install` has. */
export function chartFiles(): Generated[] {
  return charts.flatMap(filesOf);
}
