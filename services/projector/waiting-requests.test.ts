import { createMetrics } from '@rollcall/shared/service';
import { expect, test } from 'vitest';
import { createWaitingRequests } from './waiting-requests.ts';
