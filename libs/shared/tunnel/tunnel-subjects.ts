/** Where a gateway asks the agent of one cluster to open a stream. */
export const openSubject = (clusterId: string): string => `rollcall.tunnel.open.${clusterId}`;

/** Where one end of a stream speaks: `down` to the agent, `up` to the gateway. */
export const frameSubject = (
  direction: 'down' | 'up',
  clusterId: string,
  place: { readonly gateway: string; readonly stream: string },
): string => `rollcall.tunnel.${direction}.${clusterId}.${place.gateway}.${place.stream}`;

/** What an agent hears: every stream of its cluster. */
export const downOf = (clusterId: string): string => `rollcall.tunnel.down.${clusterId}.*.*`;

/** What a replica of the gateway hears of one cluster: every stream of its own. */
export const upOf = (clusterId: string, gateway: string): string =>
  `rollcall.tunnel.up.${clusterId}.${gateway}.*`;

/** Instead of a stream: each side says by it that it is there. No stream can have that name, as all letters and digits can. */
export const aliveWord = '-';

/** @returns undefined for a subject of another shape */
export function placeOf(subject: string): { clusterId: string; gateway: string; stream: string } | undefined {
  const [, , , clusterId, gateway, stream, ...more] = subject.split('.');
  if (clusterId === undefined || gateway === undefined || stream === undefined || more.length > 0)
    return undefined;
  return { clusterId, gateway, stream };
}

/**
 * An agent has two connections while people ask something of its member. Who watches over agents counts the one with heartbeats alone; an
 * agent that gives that one this name is noticed later when it is gone, and nobody else is.
 */
export const tunnelConnectionName = 'rollcall-tunnel';

/** How often each side of a tunnel says that it is there, while there are streams. */
export const aliveEveryMs = 3000;
/** So long silent, the other side is taken for dead, and its streams end. */
export const deadAfterMs = 10_000;
