import { renderManifest } from '../../cli/register/manifest.ts';

/** The agent's account in the member, as the manifests make it. */
export const agentAccount = {
  user: 'system:serviceaccount:rollcall-agent:rollcall-agent',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:rollcall-agent', 'system:authenticated'],
} as const;

/** Everything that installs the agent in a member, for a hub that nobody runs: what it makes is looked at, not what it does. */
export function agentManifest(): string {
  return renderManifest({
    hub: ['hub.example.org:4222'],
    trust: { pins: [`sha256:${'0'.repeat(64)}`] },
    token: 'rc1.x.y',
    image: 'rollcall:test',
  });
}
