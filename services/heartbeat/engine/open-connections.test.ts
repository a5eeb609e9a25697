import { expect, test } from 'vitest';
import { OpenConnections } from './open-connections.ts';

const of = (clientId: number, serverId = 'A', serverName = 'hub-1') => ({
  clusterId: 'edge',
  key: 'U',
  serverId,
  serverName,
  clientId,
});

test('connections count once each, until they end or nobody knows of them any more', () => {
  const table = { open: new Uint16Array(2) };
  const connections = new OpenConnections(table);
  connections.opened(0, of(1));
  connections.opened(0, of(1));
  connections.opened(0, of(2));
  connections.opened(1, of(3));
  expect([...table.open]).toEqual([2, 1]);
  connections.closed(of(2));
  connections.closed(of(2));
  connections.closed(of(9));
  expect([...table.open]).toEqual([1, 1]);
  connections.clear();
  expect([...table.open]).toEqual([0, 0]);
});

test('those of a server that was killed go when it is there again, or each kill would add to what everybody has', () => {
  const table = { open: new Uint16Array(2) };
  const connections = new OpenConnections(table);
  for (const [at, serverId] of ['A', 'B', 'C'].entries()) {
    connections.opened(0, of(1, serverId));
    connections.opened(0, of(2, serverId));
    connections.opened(1, of(at + 1, `other-${serverId}`, 'hub-2'));
  }
  expect([...table.open]).toEqual([2, 1]);
});

test('two servers of one name forget each other once, and not with each connection', () => {
  const table = { open: new Uint16Array(1) };
  const connections = new OpenConnections(table);
  for (let at = 1; at <= 4; at++) for (const server of ['A', 'B']) connections.opened(0, of(at, server));
  expect(table.open[0]).toBe(7);
});
