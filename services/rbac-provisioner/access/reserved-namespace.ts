/** Whether no cluster may have this namespace; the admission policies refuse the same names (deploy/admission/provisioner.yaml). */
export function isReservedNamespace(name: string, furtherNames: readonly string[]): boolean {
  return /^(default$|kube-|rollcall-)/.test(name) || furtherNames.includes(name);
}
