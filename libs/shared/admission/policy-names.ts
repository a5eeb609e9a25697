/** The admission policies of deploy/admission, which must all be there; a test compares. */
export const admissionPolicyNames = [
  'rollcall-accept',
  'rollcall-agent-host',
  'rollcall-authors',
  'rollcall-confirm',
  'rollcall-join',
  'rollcall-join-token',
  'rollcall-kubeconfig',
  'rollcall-namespace-labels',
  'rollcall-policies',
  'rollcall-projection',
  'rollcall-provisioner',
  'rollcall-provisioner-namespaces',
  'rollcall-services',
  'rollcall-services-delete',
  'rollcall-set-in-use',
  'rollcall-operation',
] as const;
