import type { KubeObject } from '@rollcall/shared/kubernetes';
import { manifestsIn } from '../up/hub-manifests.ts';
import { objectsIn, renderFolder } from './deploy-templates.ts';
import type { HubValues } from './hub-values.ts';

const isNamespace = ({ kind }: KubeObject) => kind === 'Namespace';
const inFolder = (...path: string[]) => manifestsIn(...path).flatMap(objectsIn);

/** Where the hub runs, and where tokens are kept. Helm makes the first of them itself. */
export const hubNamespaces = (): KubeObject[] => inFolder('rbac').filter(isNamespace);

/** Everything else, in the order in which it has to come: kinds, rights, the fence, and only then who could decide. */
export function hubObjects(values: HubValues): KubeObject[] {
  return [
    ...inFolder('crds'),
    ...inFolder('rbac').filter((object) => !isNamespace(object)),
    ...inFolder('fence'),
    ...(values.stamp ? inFolder('fence', 'stamp') : []),
    ...objectsIn(renderFolder('hub', values)),
  ];
}
