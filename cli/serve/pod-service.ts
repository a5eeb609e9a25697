import { runToEnd } from '../run-to-end.ts';
import { serve } from './serve.ts';

/* What a pod of a service starts: `rollcall serve NAME` without flags, and without the rest of the command line. */
await runToEnd(() => serve(process.argv.slice(3)));
