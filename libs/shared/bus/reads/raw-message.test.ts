import { headers, type MsgHdrs } from '@nats-io/transport-node';
import { describe, expect, test } from 'vitest';
import { headText, rawMessage } from './raw-message.ts';

const data = Buffer.from('{}');

/** As nats.js keeps it beside its contract. */
function kept(fields: MsgHdrs & { encode?(): Uint8Array }) {
  const head = fields.encode?.() ?? new Uint8Array();
  return {
    data,
    _rdata: Buffer.concat([head, data]),
    _msg: { hdr: head.length },
    get headers(): MsgHdrs {
      throw new Error('is taken apart');
    },
  };
}

function stored(): MsgHdrs {
  const fields = headers();
  // The writer's, one of them a lie about where it stands; then the server's own.
  fields.append('ce-id', 'E1');
  fields.append('ce-id', 'E2');
  fields.append('Nats-Sequence', '9');
  fields.append('Nats-Subject', 'rollcall.events.cluster.one.approved');
  fields.append('Nats-Sequence', '4');
  return fields;
}

describe.each([
  { name: 'as nats.js keeps it', messageOf: kept },
  { name: 'as its contract gives it', messageOf: (fields: MsgHdrs) => ({ data, headers: fields }) },
])('the head of a message, $name', ({ messageOf }) => {
  test('has what the writer said first, and what the server said last', () => {
    const message = messageOf(stored());
    const raw = rawMessage(message, headText(message));
    expect(raw).toMatchObject({ subject: 'rollcall.events.cluster.one.approved', sequence: 4, data });
    expect([raw?.header('ce-id'), raw?.header('ce-type')]).toEqual(['E1', '']);
    expect(raw?.headerNames()).toEqual(['ce-id', 'Nats-Sequence', 'Nats-Subject']);
  });

  test('has the status of what is no message', () => {
    const message = messageOf(headers(404, 'Message Not Found'));
    expect(headText(message)).toMatch(/^NATS\/1\.0 404 /);
    expect(rawMessage(message, headText(message))).toBeUndefined();
  });
});

test('a message without a head is none of a stream', () => {
  expect(rawMessage({ data }, headText({}))).toBeUndefined();
});
