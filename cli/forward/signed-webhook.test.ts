import { createHmac } from 'node:crypto';
import { decodeEvent, encodeEvent, type StoredEvent } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { join, startMs } from '../tests/past-history.ts';
import { messageOf, parseSecret, parseTemplate } from './signed-webhook.ts';

function anEvent(message: string): StoredEvent {
  const [request] = join(1);
  if (!request) throw new Error('there is none');
  const stamp = { epoch: 1, source: '/test', nowMs: startMs, correlation: 'c' };
  const { subject, headers, body } = encodeEvent({ ...request, message }, stamp);
  return decodeEvent({ subject, sequence: 7, header: (name) => headers[name] ?? '', data: body });
}
const hostile = 'says "}], {\n\u2028 and {{cluster}}';
const how = { clusterName: 'edge-1', template: undefined, secret: undefined, nowMs: 1_700_000_000_000 };

test('without a template it is a CloudEvent, with the name that people know the cluster by', () => {
  const { body, headers } = messageOf(anEvent(hostile), how);
  expect(JSON.parse(body)).toMatchObject({
    specversion: '1.0',
    type: 'dev.rollcall.cluster.requested.v1',
    sequence: '7',
    clustername: 'edge-1',
    data: { message: hostile },
  });
  expect(headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
  expect(headers).not.toHaveProperty('webhook-signature');
});

test('what others wrote stays within the text of the template that it stands in', () => {
  const template = parseTemplate('{"text": "{{ cluster }}: {{message}}", "n": [{"id": "{{sequence}}"}]}');
  const { body } = messageOf(anEvent(hostile), { ...how, template });
  expect(JSON.parse(body)).toEqual({ text: `edge-1: ${hostile}`, n: [{ id: '7' }] });
});

test('a message is signed over its id, its time and its body', () => {
  const secret = parseSecret(`whsec_${Buffer.alloc(24, 7).toString('base64')}`);
  const { body, headers } = messageOf(anEvent('m'), { ...how, secret });
  const signed = `${headers['webhook-id']}.1700000000.${body}`;
  const signature = createHmac('sha256', Buffer.alloc(24, 7)).update(signed).digest('base64');
  expect(headers['webhook-signature']).toBe(`v1,${signature}`);
});

test.each(['{"text": "{{cluster}"', '{"text": "{{secret}}"}', 'text'])('%s is no template', (text) => {
  expect(() => parseTemplate(text)).toThrow(/template/);
});

test('a secret that anybody could guess is refused', () => {
  expect(() => parseSecret('secret')).toThrow(/less than 16 bytes/);
});
