import { createRegistrationToken } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { renewTokens } from './renew-token.ts';

const { text } = createRegistrationToken('0123456789abcdef');

test.each([text, ` ${text.toUpperCase()}`])(
  'a token that is pasted in place of its name is neither sent nor repeated',
  async (pasted) => {
    const flags = { namespace: 'rollcall-join', output: 'text', kubeconfig: '/no-such-kubeconfig' } as const;
    await expect(renewTokens(['first', pasted], flags)).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.not.stringContaining(pasted.trim()),
    });
  },
);
