import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BusCredentials, connectBus } from '@rollcall/shared/bus';
import type { StreamRequest, TunnelStream } from '@rollcall/shared/tunnel';
import { createOpenStreams, type Streams } from '../../services/member-gateway/open-streams.ts';
import type { TestEmbeddedHub } from '../harness/embedded.ts';

type Asked = Partial<StreamRequest> & { readonly path: string };

/** Whoever has the identity of the gateway on the bus, and nothing of the API server. */
export interface StolenGateway extends AsyncDisposable {
  open(clusterId: string, asked: Asked): TunnelStream;
  /** @returns the head of the answer */
  ask(clusterId: string, asked: Asked & { readonly body?: string }): Promise<Record<string, unknown>>;
}

function open(streams: Streams, clusterId: string, asked: Asked): TunnelStream {
  const common = { method: 'GET', headers: [], hasBody: false, user: 'alice', groups: [] };
  const stream = streams.open({ clusterId, person: 'thief' }, { ...common, ...asked });
  if (!stream) throw new Error('too long');
  stream.resume();
  return stream;
}

export async function headOf(stream: TunnelStream): Promise<Record<string, unknown>> {
  const [data] = (await once(stream, 'head')) as [Uint8Array];
  return JSON.parse(Buffer.from(data).toString('utf8')) as Record<string, unknown>;
}

export async function stealGateway({ up }: TestEmbeddedHub): Promise<StolenGateway> {
  const file = join(up.stateDir, 'identities', 'member-gateway.json');
  const { bus: user } = JSON.parse(readFileSync(file, 'utf8')) as { bus: BusCredentials };
  const bus = await connectBus(up.natsAddress, user, 'member-gateway');
  const streams = createOpenStreams(bus);
  return {
    open: (clusterId, asked) => open(streams, clusterId, asked),
    async ask(clusterId, { body = '', ...asked }) {
      const stream = open(streams, clusterId, { ...asked, hasBody: body !== '' });
      if (body !== '') stream.end(body);
      return headOf(stream);
    },
    async [Symbol.asyncDispose]() {
      streams.stop();
      await bus.close();
    },
  };
}
