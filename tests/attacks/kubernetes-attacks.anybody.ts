import { resources } from '@rollcall/shared/kubernetes';
import { type Attack, certificateRequests, webhooks, ours, own } from './kubernetes-stage.ts';

/** Whoever it is: the ways that turn one right into all. */
export const byAnybody: readonly Attack[] = [
  {
    name: 'takes the admission policies down',
    attempt: (client) => client.delete(resources.validatingAdmissionPolicyBindings, 'rollcall-services'),
    want: 'cannot delete',
  },
  {
    name: 'weakens the admission policies',
    attempt: (client) =>
      client.mergePatch(resources.validatingAdmissionPolicies, 'rollcall-services', {
        spec: { failurePolicy: 'Ignore' },
      }),
    want: 'cannot patch',
  },
  {
    name: 'changes a kind of ours',
    attempt: (client) =>
      client.mergePatch(resources.customResourceDefinitions, 'managedclusters.rollcall.dev', {
        metadata: { labels: { x: 'y' } },
      }),
    want: 'cannot patch',
  },
  {
    name: 'adds a webhook that sees everything',
    attempt: (client) =>
      client.create(
        webhooks,
        own({ name: 'x' }, { apiVersion: 'admissionregistration.k8s.io/v1', kind: webhooks.kind }),
      ),
    want: 'cannot create',
  },
  {
    name: 'has a certificate signed for system:masters',
    attempt: (client) =>
      client.create(
        certificateRequests,
        own(
          { name: 'x' },
          {
            apiVersion: 'certificates.k8s.io/v1',
            kind: certificateRequests.kind,
            spec: { request: '', signerName: 'kubernetes.io/kube-apiserver-client', usages: ['client auth'] },
          },
        ),
      ),
    want: 'cannot create',
  },
  {
    name: 'writes a policy that approves everything',
    attempt: (client) =>
      client.create(ours.policies, {
        apiVersion: 'rollcall.dev/v1alpha1',
        kind: 'ApprovalPolicy',
        metadata: { name: 'everything' },
        spec: { rules: [{ name: 'all', when: 'true', effect: 'Approve' }] },
      }),
    want: 'cannot create',
  },
  {
    name: 'confirms a bulk change',
    attempt: (client) =>
      client.mergePatch(
        resources.configMaps,
        'rollcall-confirmations',
        { data: { confirm: 'w', by: 'x' } },
        { namespace: 'rollcall-system' },
      ),
    want: 'cannot patch',
  },
];
