import type { Duplex } from 'node:stream';
import type { TunnelStream } from './tunnel-stream.ts';

/** So long a connection on which all is said may take to be closed by its other side: cut before, what is under way would be lost. */
const lingerMs = 10_000;

/**
 * Carries raw bytes both ways between a connection and a stream, until both are closed. What one side has said before it ended gets to
 * the other in full, also where it takes nothing any more; one that breaks off breaks the other off as well. Not by `pipeline`: that one
 * gives up what is still under way as soon as one of the two is closed. Never rejects.
 */
export async function joinSocket(socket: Duplex, stream: TunnelStream): Promise<void> {
  const bothClosed = Promise.all([closed(socket), closed(stream)]);
  const brokenOff = new Error('the connection was closed');
  const linger = () => void setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once('error', (error) => void (socket.readableEnded || stream.destroy(error)));
  socket.once('close', () => {
    if (!socket.readableEnded) stream.destroy(brokenOff);
    // What the other side still says to it is read, and goes nowhere.
    else stream.resume();
  });
  stream.once('close', () => {
    socket.resume();
    if (!stream.readableEnded) socket.destroy();
    else if (socket.writableFinished) linger();
    else socket.once('finish', linger);
  });
  socket.pipe(stream);
  stream.pipe(socket);
  if (socket.destroyed) stream.destroy(brokenOff);
  if (stream.destroyed) socket.destroy();
  await bothClosed;
}

async function closed(side: Duplex): Promise<void> {
  if (!side.closed) await new Promise((resolve) => side.once('close', resolve));
}
