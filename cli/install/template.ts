import { createHash } from 'node:crypto';
import { printableJson } from '../terminal/printable.ts';
import { type Condition, holds, parseCondition, valueAt } from './condition.ts';

/*
 * The manifests of deploy/agent and deploy/hub are templates: plain YAML with markers, which are filled in here, and from which
 * the charts are derived (tools/generate/generate-charts.ts). So `helm install` and `rollcall install` make the very same objects.
 *
 *   key: ${path.of.value}            a whole value
 *   key: ${labels | pairs}           a mapping as `k=v,k=v`
 *   key: ${users | keys}             the keys of a mapping, with commas between them
 *   key: ${names | commas}           the items of a list, with commas between them
 *   key: ${address | host}           the host of an address, without its port
 *   key: ${hub, token | sha256}      a hash of texts
 *   key: ${rollcall-<name> | text}   a text with values in it
 *   - ${...env}                      each item of a list
 *   #if path, #if not path, #end     lines that are there only where the value is set (or not)
 *   #if path is word or word, #end   … or is just that, or one of those
 *   #each path as key, item … #end   lines for each entry of a mapping, in the order of its keys, or of a list
 */

/** A value that stands in one place. */
export interface Marker {
  readonly paths: readonly string[];
  readonly filter: 'json' | 'pairs' | 'keys' | 'commas' | 'host' | 'sha256';
}

/** Plain pieces, and paths of values between them. */
export type TextPiece = { readonly plain: string } | { readonly path: string };

export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly marker: Marker }
  | { readonly kind: 'words'; readonly pieces: readonly TextPiece[] }
  | {
      readonly kind: 'loop';
      readonly path: string;
      readonly key: string;
      readonly item: string;
      readonly body: readonly TemplatePart[];
    }
  | { readonly kind: 'each'; readonly indent: string; readonly path: string }
  | {
      readonly kind: 'if';
      readonly condition: Condition;
      readonly body: readonly TemplatePart[];
    };

const markerPattern = /^([^#\n]*?)\$\{([^}]*)\}/;
const eachPattern = /^( *)- \$\{\.\.\.([\w.]+)\}$/;
const conditionPattern = /^\s*#if (.*)$/;
const loopPattern = /^\s*#each ([\w.]+) as (\w+), (\w+)$/;
const endPattern = /^\s*#end$/;

function piecesOf(text: string): TextPiece[] {
  return text
    .split(/(<[\w.]+>)/)
    .filter((piece) => piece !== '')
    .map((piece) => (piece.startsWith('<') ? { path: piece.slice(1, -1) } : { plain: piece }));
}

function valuePart(text: string): TemplatePart {
  const words = /^(.+) \| text$/.exec(text);
  if (words) return { kind: 'words', pieces: piecesOf(words[1] ?? '') };
  return { kind: 'value', marker: markerOf(text) };
}

function markerOf(text: string): Marker {
  const found = /^([\w.]+(?:, [\w.]+)*)(?: \| (pairs|keys|commas|host|sha256))?$/.exec(text);
  if (!found) throw new TypeError(`"\${${text}}" is no marker`);
  const [, paths = '', filter = 'json'] = found;
  return { paths: paths.split(', '), filter: filter as Marker['filter'] };
}

function partsOfLine(line: string): TemplatePart[] {
  const each = eachPattern.exec(line);
  if (each) return [{ kind: 'each', indent: each[1] ?? '', path: each[2] ?? '' }];
  const found = markerPattern.exec(line);
  if (!found) return [{ kind: 'text', text: `${line}\n` }];
  const [whole, before = '', marker = ''] = found;
  return [{ kind: 'text', text: before }, valuePart(marker), ...partsOfLine(line.slice(whole.length))];
}

/** @throws TypeError for markers that are none, and conditions that do not end */
export function parseTemplate(text: string): readonly TemplatePart[] {
  const root: TemplatePart[] = [];
  const open: TemplatePart[][] = [root];
  for (const line of text.trimEnd().split('\n')) {
    const condition = parseCondition(conditionPattern.exec(line)?.[1] ?? '');
    const loop = loopPattern.exec(line);
    if (loop) {
      const [, path = '', key = '', item = ''] = loop;
      const body: TemplatePart[] = [];
      open.at(-1)?.push({ kind: 'loop', path, key, item, body });
      open.push(body);
    } else if (condition) {
      const body: TemplatePart[] = [];
      open.at(-1)?.push({ kind: 'if', condition, body });
      open.push(body);
    } else if (endPattern.test(line)) open.pop();
    else open.at(-1)?.push(...partsOfLine(line));
  }
  if (open.length !== 1) throw new TypeError('#if and #end do not fit together');
  return root;
}

type Values = Readonly<Record<string, unknown>>;

const byKey = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : 1);

/** JSON is YAML, so nothing in a value can end it. */
function shown({ paths, filter }: Marker, values: Values): string {
  const found = paths.map((path) => valueAt(values, path));
  switch (filter) {
    case 'sha256':
      return JSON.stringify(createHash('sha256').update(found.map(String).join('\n')).digest('hex'));
    case 'pairs': {
      const pairs = Object.entries(found[0] as Values).toSorted(byKey);
      return JSON.stringify(pairs.map(([key, value]) => `${key}=${String(value)}`).join(','));
    }
    case 'keys':
      return JSON.stringify(
        Object.keys(found[0] as Values)
          .toSorted()
          .join(','),
      );
    case 'commas':
      return JSON.stringify((found[0] as readonly string[]).join(','));
    case 'host':
      return JSON.stringify((found[0] as string).split(':')[0]);
    default:
      return printableJson(found[0]);
  }
}

/** Fills the markers of a manifest in with whole YAML values. */
export function fillIn(parts: readonly TemplatePart[], values: Values): string {
  return parts
    .map((part) => {
      switch (part.kind) {
        case 'text':
          return part.text;
        case 'value':
          return shown(part.marker, values);
        case 'words':
          return printableJson(
            part.pieces
              .map((piece) => ('plain' in piece ? piece.plain : String(valueAt(values, piece.path))))
              .join(''),
          );
        case 'loop':
          return Object.entries(valueAt(values, part.path) as Values)
            .toSorted(byKey)
            .map(([key, item]) => fillIn(part.body, { ...values, [part.key]: key, [part.item]: item }))
            .join('');
        case 'each':
          return (valueAt(values, part.path) as unknown[])
            .map((item) => `${part.indent}- ${printableJson(item)}\n`)
            .join('');
        default:
          return holds(part.condition, values) ? fillIn(part.body, values) : '';
      }
    })
    .join('');
}
