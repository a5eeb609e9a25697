import { randomInt } from 'node:crypto';
import { createServer } from 'node:tls';

/*
 * As much of a NATS server as the library needs to be connected, in a process of its own: it answers late, as one that its whole fleet
 * comes back to. Begun with a certificate, its key, a port and what it
 * says of itself as JSON; sends its address.
 */
const { certificatePem, privateKeyPem, port, info } = JSON.parse(process.argv[2] ?? '{}') as {
  certificatePem: string;
  privateKeyPem: string;
  port: number;
  info: object;
};
const server = createServer({ cert: certificatePem, key: privateKeyPem }, (socket) => {
  const late = (text: string) =>
    setTimeout(() => void (socket.writable && socket.write(text)), randomInt(300));
  socket.on('error', () => undefined).on('data', (data) => void (data.includes('PING') && late('PONG\r\n')));
  late(`INFO ${JSON.stringify(info)}\r\n`);
});
server.on('tlsClientError', () => undefined);
server.listen(port, '127.0.0.1', () => process.send?.(server.address()));
