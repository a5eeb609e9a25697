import { countHeldEvents } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { foreignMutators } from '@rollcall/shared/admission';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import type { ShownOperations } from '@rollcall/shared/resources';
import type { StreamSize } from '@rollcall/shared/bus';
import type { OpenBus } from '../events/open-bus.ts';
import { shownOperations } from '../operations/shown-operations.ts';
import { hasMemberApi } from '../doctor/examine-member-api.ts';
import { askServices, type ServiceReply } from './ask-services.ts';
import { admissionFindings } from './admission-state.ts';
import { serverVersion } from './server-version.ts';
import { type StreamName, streamSizes } from './stream-sizes.ts';

/** By service. */
export type HeldEvents = Readonly<Partial<Record<string, number>>>;

/** What the bus gave, or why it gave nothing. */
export interface BusSide {
  readonly answers: readonly ServiceReply[];
  readonly streams: Partial<Readonly<Record<StreamName, StreamSize>>>;
  readonly heldEvents?: HeldEvents | undefined;
  readonly server: string | undefined;
  readonly version: string | undefined;
  readonly error?: string;
  readonly next?: string;
}
export interface KubernetesSide {
  readonly server: string;
  readonly version: string | undefined;
  readonly admission: readonly string[] | undefined;
  readonly admissionError?: string;
  /** Mutating admission of others that matches our kinds; undefined where this person may not look. */
  readonly mutators?: readonly string[];
  readonly mutatorsError?: string;
  /** Whether this hub has a member gateway; undefined where that could not be asked. */
  readonly hasMemberApi?: boolean | undefined;
  /** What of a bulk change waits; undefined where nothing does, or this person may not see it. */
  readonly held?: ShownOperations['held'];
  readonly heldError?: string;
  readonly error?: string;
  readonly next?: string;
}

export async function readBusSide({ nc }: OpenBus): Promise<BusSide> {
  const [answers, streams, heldEvents] = await Promise.all([
    askServices(nc),
    streamSizes(nc),
    countHeldEvents(nc),
  ]);
  return { answers, streams, heldEvents, server: nc.getServer(), version: nc.info?.version };
}

const said = (thrown: unknown) => toRollcallError(thrown).message;

export async function readKubernetesSide(client: KubeClient): Promise<KubernetesSide> {
  const { server } = client.access;
  try {
    // Side by side: one that hangs takes no time from the others.
    const [version, operations, admission, mutators, memberApi] = await Promise.all([
      serverVersion(client),
      shownOperations(client).catch((thrown: unknown) => ({ held: undefined, heldError: said(thrown) })),
      admissionFindings(client).then(
        (found) => ({ admission: found }),
        (thrown: unknown) => ({ admission: undefined, admissionError: said(thrown) }),
      ),
      foreignMutators(client).then(
        (found) => ({ mutators: found }),
        (thrown: unknown) => ({ mutatorsError: said(thrown) }),
      ),
      // The look at the objects tells why it could not be asked.
      hasMemberApi(client).catch(() => undefined),
    ]);
    return {
      server,
      version,
      ...admission,
      ...mutators,
      hasMemberApi: memberApi,
      held: operations.held,
      ...('heldError' in operations ? operations : {}),
    };
  } catch (thrown) {
    return kubernetesAway(thrown, server);
  }
}

/** @param server - empty where nobody knows which it would be */
export function kubernetesAway(thrown: unknown, server = ''): KubernetesSide {
  const { message: error, hint: next } = toRollcallError(thrown);
  return { server, version: undefined, admission: undefined, error, next };
}
