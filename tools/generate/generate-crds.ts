import { crdOf, kinds } from '@rollcall/shared/resources';
import { stringify } from 'yaml';
import type { Generated } from './generated-file.ts';

const header = '# Derived from libs/shared/resources by `npm run generate`; do not edit.\n';

/** One CustomResourceDefinition a file, in deploy/crds. */
export function crdFiles(): Generated {
  const files = new Map(
    kinds.map((kind) => [
      `${kind.plural}.yaml`,
      header + stringify(crdOf(kind), { aliasDuplicateObjects: false, lineWidth: 120 }),
    ]),
  );
  return { folder: 'deploy/crds', extension: '.yaml', files };
}
