/** Whether no cluster may have this namespace; the fence refuses the same names (deploy/fence/provisioner.yaml). */
export function isReservedNamespace(name: string, furtherNames: readonly string[]): boolean {
  return /^(default$|kube-|rollcall-)/.test(name) || furtherNames.includes(name);
}
