import { isDeepStrictEqual } from 'node:util';
import type { Decision } from '@rollcall/shared/events';
import { apiVersionOf, type KubeObject, type Resource, resources } from '@rollcall/shared/kubernetes';
import { annotations, labels } from '@rollcall/shared/resources';

/** Name of ServiceAccount, RoleBinding and the shared ClusterRole (surfaces); the admission policies let no other through. */
export const memberName = 'rollcall-member';

/** The binding, and the ClusterRole that it names, by which the provisioner looks into a namespace (ADR 19). */
export const lookName = 'rollcall-namespace-look';

/** Whose objects they are. */
export interface Member {
  readonly clusterId: string;
  readonly clusterName: string;
  readonly namespace: string;
}

export interface RoleBinding extends KubeObject {
  readonly roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string };
  /** Of one that somebody else wrote, there may be none. */
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace: string }[];
}

export function memberOf(clusterId: string, decision: Pick<Decision, 'clusterName' | 'namespace'>): Member {
  return { clusterId, clusterName: decision.clusterName, namespace: decision.namespace };
}

function base(resource: Resource, member: Member): KubeObject {
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: {
      name: resource.namespaced ? memberName : member.namespace,
      ...(resource.namespaced ? { namespace: member.namespace } : {}),
      labels: {
        [labels.clusterId]: member.clusterId,
        [labels.clusterName]: member.clusterName,
        [labels.createdBy]: 'rbac-provisioner',
      },
      annotations: { [annotations.autoupdate]: 'true' },
    },
  };
}

export function memberNamespace(member: Member): KubeObject {
  return base(resources.namespaces, member);
}

export function memberServiceAccount(member: Member): KubeObject {
  return base(resources.serviceAccounts, member);
}

export function memberRoleBinding(member: Member): RoleBinding {
  return {
    ...base(resources.roleBindings, member),
    roleRef: { apiGroup: resources.clusterRoles.group, kind: 'ClusterRole', name: memberName },
    subjects: [{ kind: 'ServiceAccount', name: memberName, namespace: member.namespace }],
  };
}

/** In force for as long as the provisioner looks; the admission policies take it in no other form. */
export function lookBinding(namespace: string): RoleBinding {
  return {
    apiVersion: apiVersionOf(resources.roleBindings),
    kind: resources.roleBindings.kind,
    metadata: { name: lookName, namespace, labels: { [labels.createdBy]: 'rbac-provisioner' } },
    roleRef: { apiGroup: resources.clusterRoles.group, kind: 'ClusterRole', name: lookName },
    subjects: [{ kind: 'ServiceAccount', name: 'rollcall-rbac-provisioner', namespace: 'rollcall-system' }],
  };
}

/** Whether it gives the account of its namespace the rights of members, and nothing else to anybody. */
export function bindsTheMember({ metadata: { namespace = '' }, roleRef, subjects }: RoleBinding): boolean {
  const wanted = memberRoleBinding({ clusterId: '', clusterName: '', namespace });
  return isDeepStrictEqual(roleRef, wanted.roleRef) && isDeepStrictEqual(subjects, wanted.subjects);
}

/** Whether we made the object, for this very cluster. */
export function isMembers(object: KubeObject | undefined, member: Member): boolean {
  const found = object?.metadata.labels ?? {};
  return found[labels.clusterId] === member.clusterId && found[labels.createdBy] === 'rbac-provisioner';
}
