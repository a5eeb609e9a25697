import { RollcallError } from '@rollcall/shared/errors';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import { openSubject } from '@rollcall/shared/tunnel/subjects';
import type { Connector } from '../session/connector.ts';
import type { HubLink } from '../session/hub-connection.ts';
import type { Session } from '../session/session.ts';
import type { MemberAccess } from './member-identity.ts';
import type { MemberTunnel } from './member-tunnel.ts';

export interface MemberTunnelOptions {
  readonly access: MemberAccess;
  readonly member: KubeAccess;
  readonly version: string;
}

/** Hears on the agent's own connection that somebody asks; whatever that needs is loaded and connected then. */
export function answerPeople(
  session: Session,
  connector: Pick<Connector, 'dial'>,
  options: MemberTunnelOptions,
): { listen(link: HubLink): void; stop(): Promise<void> } {
  const { clusterId, keys, stateStore, logger } = session;
  let tunnel: Promise<MemberTunnel> | undefined;

  async function dial(): Promise<HubLink> {
    const { member } = stateStore.state;
    const link =
      member && (await connector.dial({ role: 'member', jwt: member.jwt }, keys.current(), 'tunnel'));
    if (link) return link;
    throw new RollcallError('HUB_UNREACHABLE', 'the hub does not let the agent in a second time');
  }

  async function start(): Promise<MemberTunnel> {
    const { createMemberTunnel } = await import('./member-tunnel.ts');
    return createMemberTunnel({
      clusterId,
      ...options,
      logger,
      dial,
      ownLink: () => session.memberLink(),
    });
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
