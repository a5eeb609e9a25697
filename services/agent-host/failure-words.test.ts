import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { expect, test } from 'vitest';
import { failureWords, ofHub } from './failure-words.ts';

const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
const away = new RollcallError('KUBE_UNREACHABLE', 'away', { cause: refused });

const wordsOf = (work: Promise<never>) => work.catch(failureWords);

test('no member is blamed for the API server of the hub', async () => {
  expect(failureWords(away)).toMatchObject({ reason: 'MemberUnreachable' });
  expect(await wordsOf(ofHub(Promise.reject(away)))).toMatchObject({
    reason: 'HostTrouble',
    message: expect.stringContaining('the API server of the hub itself'),
  });
});

test('nor where what failed was made an error of ours on the way to a log line', async () => {
  const wrapped = await ofHub(Promise.reject(away)).catch(toRollcallError);
  expect(failureWords(wrapped)).toMatchObject({ reason: 'HostTrouble' });
});

test('what is wrong with the Secret of a member is said as it is', async () => {
  const wrong = new RollcallError('MEMBER_KUBECONFIG_REFUSED', 'the Secret a/b is not there');
  expect(await wordsOf(ofHub(Promise.reject(wrong)))).toEqual({
    reason: 'KubeconfigRefused',
    message: 'the Secret a/b is not there',
  });
});
