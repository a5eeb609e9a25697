import { RollcallError } from '@rollcall/shared/errors';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import type { Logger } from '@rollcall/shared/service';
import { openSubject } from '@rollcall/shared/tunnel/subjects';
import { preferSpeed } from '../small-footprint.ts';
import type { MemberAccess } from './member-identity.ts';
import type { MemberTunnel, TunnelLink } from './member-tunnel.ts';

export interface MemberTunnelOptions {
  readonly access: MemberAccess;
  readonly member: KubeAccess;
  readonly version: string;
}

interface AgentConnections {
  readonly clusterId: string;
  readonly logger: Logger;
  /** A second connection of the agent; undefined where the hub refuses it, or there are no credentials. */
  dial(): Promise<TunnelLink | undefined>;
  /** The first one. */
  ownLink(): Pick<TunnelLink, 'publish'> | undefined;
}

/** Hears on the agent's own connection that somebody asks; whatever that needs is loaded and connected then. */
export function answerPeople(
  { clusterId, logger, dial, ownLink }: AgentConnections,
  options: MemberTunnelOptions,
): { listen(link: Pick<TunnelLink, 'subscribe'>): void; stop(): Promise<void> } {
  let tunnel: Promise<MemberTunnel> | undefined;

  async function dialed(): Promise<TunnelLink> {
    const link = await dial();
    if (link) return link;
    throw new RollcallError('HUB_UNREACHABLE', 'the hub does not let the agent in a second time');
  }

  async function start(): Promise<MemberTunnel> {
    preferSpeed();
    const { createMemberTunnel } = await import('./member-tunnel.ts');
    return createMemberTunnel({ clusterId, ...options, logger, dial: dialed, ownLink });
  }

  return {
    listen(link) {
      link.subscribe(openSubject(clusterId), (message) => {
        tunnel ??= start();
        void tunnel.then((started) => started.open(message));
      });
    },
    stop: async () => void (await (await tunnel)?.stop()),
  };
}
