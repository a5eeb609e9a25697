import { usualMemberLifeMs } from '@rollcall/shared/config';
import { type CredentialLife, lastEndsAtMs } from './credential-lives.ts';
import type { RotatedKey, Rotation } from '../up/state/hub-state.ts';

/** What comes next of a key that rolls over. */
export interface RotationStep {
  readonly kind: 'announce' | 'switch' | 'drop';
  /** Before that somebody would be cut off, or have to be let in again by a person. */
  readonly dueAtMs: number;
  /** What will happen, for people; one sentence each. */
  readonly says: readonly string[];
}

const hourMs = 3_600_000;

type Lives = readonly CredentialLife[];

/** By then every agent has renewed: what was issued before has ended, and an hour for clocks and for those who were away. */
const everyAgentRenewedAtMs = ({ atMs, longestLifeMs = 0 }: Rotation, lives: Lives): number =>
  Math.max(atMs + Math.max(usualMemberLifeMs, longestLifeMs), lastEndsAtMs(lives, atMs)) + hourMs;

type Makes = (rotation: Rotation | undefined, lives: Lives) => RotationStep;

const steps: Readonly<Record<RotatedKey, Makes>> = {
  'signing-keys': (rotation, lives) => {
    if (rotation?.stage === 'switched') {
      return {
        kind: 'drop',
        dueAtMs: everyAgentRenewedAtMs(rotation, lives),
        says: [
          'the former generation is taken out of account AGENTS; credentials that it signed are void',
          'keys that were taken back before the present generation was announced leave the revocation list',
        ],
      };
    }
    return {
      kind: rotation === undefined ? 'announce' : 'switch',
      dueAtMs: 0,
      says: [
        'a next generation of keys, one a role, becomes good beside the present one (account-controller)',
        'once every server acts on it, the registrar signs with it; nothing is restarted, nobody is cut off',
        'the former one is dropped when you run the same command again, a day later',
      ],
    };
  },
  'service-keys': (rotation) =>
    rotation === undefined
      ? {
          kind: 'announce',
          dueAtMs: 0,
          says: [
            'a next key that signs users of services becomes good beside the present one in HUB and the accounts of roles',
            'every service, and each user of people, gets a new user by it; services connect with theirs within seconds',
            'the former ones are good until you run the same command again',
          ],
        }
      : {
          kind: 'drop',
          dueAtMs: 0,
          says: [
            'the former key is taken out of HUB and the accounts of roles; users that it signed are void, copies of ops.creds and inspector.creds among them',
            'refused while somebody is still connected with one of them',
          ],
        },
  ca: (rotation, lives) => {
    switch (rotation?.stage) {
      case undefined:
        return {
          kind: 'announce',
          dueAtMs: 0,
          says: [
            'a next CA is made; agents learn of it by signed replies and know the hub by both',
            'register commands and Helm values from now on carry both',
            'commands that were printed before work until the next step',
          ],
        };
      case 'announced':
        return {
          kind: 'switch',
          dueAtMs: everyAgentRenewedAtMs(rotation, lives),
          says: [
            "the servers' certificate is made by the next CA, and they read it; here connections stay, in a cluster the servers start anew",
            'the former CA is forgotten; an agent that did not hear of the next one comes back with its new hash and no token: `rollcall install agent --hub HOST:PORT --ca-cert-hash HASH` with its other values as before, or `helm upgrade`',
          ],
        };
      case 'switched':
        return {
          kind: 'drop',
          dueAtMs: 0,
          says: [
            'what was stopped is finished: the servers show the next CA, and the former one is forgotten',
          ],
        };
    }
  },
  'reply-key': () => ({
    kind: 'switch',
    dueAtMs: 0,
    says: [
      'the present key signs a link to the next one, and is then deleted',
      'answers are signed by the next one and carry the links; agents and tokens of before follow them',
      'the id of the hub stays; nothing is restarted',
    ],
  }),
  'operator-keys': (rotation) =>
    rotation?.stage === 'switched'
      ? {
          kind: 'drop',
          dueAtMs: 0,
          says: ['what was stopped is finished: the servers take the list without the former key'],
        }
      : {
          kind: 'switch',
          dueAtMs: 0,
          says: [
            'all accounts are signed again by the other of the two listed keys, and pushed',
            'a new key is listed in place of the one that signed; the list is read when a NATS server starts, which in a cluster each does now',
          ],
        },
};

/** The next step of a key: pure, so that `--dry-run` and the step itself cannot differ. */
export function rotationStep(
  key: RotatedKey,
  rotation: Rotation | undefined,
  lives: Lives = [],
): RotationStep {
  return steps[key](rotation, lives);
}
