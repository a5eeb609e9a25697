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

/** An API that nobody serves is in the way of who asks which kinds there are, and keeps Kubernetes from emptying namespaces. */
export const announces = ({ kind }: KubeObject) => kind === 'APIService';

/**
 * Everything else, in the order in which it has to come: kinds, rights, the admission policies, only then who could decide, and at the
 * end what the API server passes on to a service.
 */
export function hubObjects(values: HubValues): KubeObject[] {
  const shown = [
    ...inFolder('crds'),
    ...inFolder('inventory'),
    ...inFolder('rbac').filter((object) => !isNamespace(object)),
    ...inFolder('admission'),
    ...(values.attribution ? inFolder('admission', 'attribution') : []),
  ];
  const ofValues = objectsIn(renderFolder('hub', values));
  return [
    ...(values.parts.kubernetes ? shown : []),
    ...ofValues.filter((object) => !announces(object)),
    ...ofValues.filter(announces),
  ];
}
