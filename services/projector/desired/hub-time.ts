/** Points in time as Kubernetes writes them: RFC 3339, whole seconds, UTC. */
export function hubTime(atMs: number): string {
  return `${new Date(Math.floor(atMs / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}
