import { cleanUp } from './clean-up.ts';

/*
 * Waits for the end of the test run, however it ends (its end of the pipe closes even at kill -9), and takes every node away.
 */
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.stdin.resume();
process.stdin.once('end', () => void cleanUp());
