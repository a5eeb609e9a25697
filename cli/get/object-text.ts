import type { Resource } from '@rollcall/shared/kubernetes';
import { printableJson } from '../terminal/printable.ts';
import { printableYaml } from '../terminal/printable-yaml.ts';

export type ObjectFormat = 'json' | 'yaml' | 'name';

export interface ShownObject {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string };
}

/** An object as the format has it; `name` is what kubectl takes back. */
export function objectText(object: unknown, { kind, group }: Resource, format: ObjectFormat): string {
  if (format === 'json') return printableJson(object, 2);
  if (format === 'yaml') return printableYaml(object);
  return `${kind.toLowerCase()}.${group}/${(object as ShownObject).metadata.name}`;
}

/** Without what no person reads, as kubectl shows it. */
export function withoutManagers(object: ShownObject): ShownObject {
  const { managedFields: _hidden, ...metadata } = object.metadata as ShownObject['metadata'] & {
    managedFields?: unknown;
  };
  return { ...object, metadata };
}
