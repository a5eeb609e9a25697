import { expect, test } from 'vitest';
import { type AgentDeployment, agentDoubts } from './agent-says.ts';

const condition = (type: string, status: string, reason = 'R', message = 'why') => ({
  type,
  status,
  reason,
  message,
});
const says = (...conditions: ReturnType<typeof condition>[]): string[] =>
  agentDoubts({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'rollcall-agent' },
    status: { conditions },
  } as AgentDeployment);

test.each([
  {
    name: 'connected and registered',
    said: [condition('Connected', 'True'), condition('Registered', 'True')],
    want: [],
  },
  {
    name: 'waiting for a person',
    said: [
      condition('Connected', 'True'),
      condition('Registered', 'Unknown', 'Pending', 'nobody has judged it'),
    ],
    want: ['Registered is Unknown (Pending): nobody has judged it'],
  },
  {
    name: 'refused by its CA',
    said: [condition('Connected', 'False', 'HubCaWrong'), condition('Registered', 'True')],
    want: ['Connected is False (HubCaWrong): why'],
  },
  {
    name: 'silent',
    said: [],
    want: ['it does not say whether it is connected', 'it does not say whether it is registered'],
  },
])('an agent that is $name', ({ said, want }) => {
  expect(says(...said)).toEqual(want);
});
