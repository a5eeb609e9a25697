import type { KubeObject } from '@rollcall/shared/kubernetes';
import { manifestsIn } from '../../up/hub-manifests.ts';
import { objectsIn, renderFolder } from '../deploy-templates.ts';
import type { HubValues } from './hub-values.ts';

const isNamespace = ({ kind }: KubeObject) => kind === 'Namespace';
const inFolder = (...path: string[]) => manifestsIn(...path).flatMap(objectsIn);

/** Where the hub runs, and beside its kinds where tokens are kept. Helm makes the first of them itself. */
export function hubNamespaces({ kubernetes }: Pick<HubValues['parts'], 'kubernetes'>): KubeObject[] {
  const all = inFolder('rbac').filter(isNamespace);
  return all.filter(({ metadata }) => kubernetes || metadata.name === 'rollcall-system');
}

/** Everything else, in the order in which it has to come: kinds, rights, the admission policies, and only then who could decide. */
export function hubObjects(values: HubValues): KubeObject[] {
  const shown = [
    ...inFolder('crds'),
    ...inFolder('rbac').filter((object) => !isNamespace(object)),
    ...inFolder('admission'),
    ...(values.attribution ? inFolder('admission', 'attribution') : []),
  ];
  return [...(values.parts.kubernetes ? shown : []), ...objectsIn(renderFolder('hub', values))];
}
