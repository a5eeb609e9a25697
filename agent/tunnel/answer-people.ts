import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import type { Logger } from '@rollcall/shared/service';
import { openSubject } from '@rollcall/shared/tunnel/subjects';
import { preferSpeed } from '../low-memory-flags.ts';
import { createHubPermission, type HubPermission } from './hub-permission.ts';
import type { MemberAccess } from './impersonation.ts';
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
  /** Has the hub say whether it has shut this cluster. */
  askHub(): void;
}

export interface PeopleAnswered {
  /** @param options.isFirst - whether no connection stood until this one */
  listen(link: Pick<TunnelLink, 'subscribe'>, options: { readonly isFirst: boolean }): void;
  readonly hubSaid: HubPermission['learn'];
  stop(): Promise<void>;
}

/** Hears on the agent's own connection that somebody asks; whatever that needs is loaded and connected then. */
export function answerPeople(
  { clusterId, logger, dial, ownLink, askHub }: AgentConnections,
  options: MemberTunnelOptions,
): PeopleAnswered {
  let tunnel: Promise<MemberTunnel | undefined> | undefined;
  const permission = createHubPermission({
    ask: askHub,
    onShut: (why) => void tunnel?.then((ready) => ready?.endAll(why)),
  });

  async function dialed(): Promise<TunnelLink> {
    const link = await dial();
    if (link) return link;
    throw new RollcallError('HUB_UNREACHABLE', 'the hub does not let the agent in a second time');
  }

  async function start(): Promise<MemberTunnel> {
    preferSpeed();
    const { createMemberTunnel } = await import('./member-tunnel.ts');
    const { refusal, refusalNow } = permission;
    return createMemberTunnel({
      clusterId,
      ...options,
      logger,
      dial: dialed,
      ownLink,
      refusal,
      refusalNow,
    });
  }

  /** Undefined where the member's credentials cannot be used; never rejects. With the next request it is tried again. */
  function started(): Promise<MemberTunnel | undefined> {
    tunnel ??= start().catch((error: unknown) => {
      tunnel = undefined;
      logger.warn({ err: toRollcallError(error) }, 'what people ask of the member cannot be passed on');
      return undefined;
    });
    return tunnel;
  }

  async function askIfBusy(): Promise<void> {
    if ((await tunnel)?.isBusy()) await permission.refusal();
  }

  return {
    listen(link, { isFirst }) {
      if (isFirst) {
        permission.forget();
        // Their connection may have outlived the one over which the hub would have said that it is shut.
        void askIfBusy();
      }
      link.subscribe(openSubject(clusterId), (message) => {
        void started().then((ready) => ready?.open(message));
      });
    },
    hubSaid: permission.learn,
    stop: async () => void (await (await tunnel)?.stop()),
  };
}
