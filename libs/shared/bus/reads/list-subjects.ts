import type { NatsConnection } from '@nats-io/transport-node';
import { hubDomain } from '@rollcall/shared/rights';
import { RollcallError } from '@rollcall/shared/errors';
import { directGetEach } from './direct-get.ts';
import { readRequest } from './on-reconnect.ts';

/** The server gives no more at once. */
export const subjectsInPage = 100_000;
/** For each page the server puts all that match into order: seconds with a million of them, and more while it has other work. */
const pageWithinMs = 20_000;

interface Page {
  readonly total?: number;
  readonly state?: { readonly subjects?: Readonly<Record<string, number>> };
  readonly error?: { readonly code: number; readonly description: string };
}

async function askPage(nc: NatsConnection, stream: string, question: object): Promise<Page> {
  const subject = `$JS.${hubDomain}.API.STREAM.INFO.${stream}`;
  const answer = await readRequest(nc, subject, {
    question: JSON.stringify(question),
    timeoutMs: pageWithinMs,
  });
  return answer.json();
}

/**
 * The subjects under a filter, and how many messages each has, in pages of 100,000; no message is read. Some twice, where others come meanwhile.
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function* listSubjects(
  nc: NatsConnection,
  stream: string,
  filter: string,
): AsyncGenerator<[subject: string, count: number][]> {
  for (let offset = 0; ;) {
    const { error, total = 0, state } = await askPage(nc, stream, { subjects_filter: filter, offset });
    if (error)
      throw new RollcallError('BUS_UNREACHABLE', `the bus cannot list ${stream}: ${error.description}`);
    const subjects = Object.entries(state?.subjects ?? {});
    yield subjects;
    offset += subjects.length;
    if (subjects.length === 0 || offset >= total) return;
  }
}

/**
 * How many messages there are under a filter: the server counts them without a list.
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function countEvents(nc: NatsConnection, stream: string, filter: string): Promise<number> {
  let first = 0;
  const take = () => void first++;
  const more = await directGetEach(nc, stream, { seq: 1, batch: 1, next_by_subj: filter, take });
  return first + more;
}
