import { expect, test } from 'vitest';
import { createRequestBudget } from './request-limits.ts';

const noFloods = { found: () => undefined, isUnheard: () => false };

test('an agent that asks too often is told so a few times, and then ignored; another one is not concerned', () => {
  const budget = createRequestBudget(noFloods);
  const places = Array.from({ length: 5000 }, () => {
    const place = budget.enter({ agentKey: 'flooder', verb: 'join' }, 0);
    if (place === 'work') budget.leave({ agentKey: 'flooder', verb: 'join' });
    return place;
  });
  const countOf = (wanted: string) => places.filter((place) => place === wanted).length;
  expect(countOf('work')).toBe(40);
  expect(countOf('busy')).toBe(5);
  expect(countOf('ignore')).toBe(4955);
  expect(budget.enter({ agentKey: 'other', verb: 'join' }, 0)).toBe('work');
});

test('an agent has no more than eight asks open, and gets a place back with each reply', () => {
  const budget = createRequestBudget(noFloods);
  const enter = () => budget.enter({ agentKey: 'one', verb: 'join' }, 0);
  expect(Array.from({ length: 9 }, enter).filter((place) => place === 'work')).toHaveLength(8);
  budget.leave({ agentKey: 'one', verb: 'join' });
  expect(enter()).toBe('work');
});

test('the requests with one token leave room for others', () => {
  const budget = createRequestBudget(noFloods);
  expect(Array.from({ length: 1001 }, () => budget.enterWithToken('T')).filter(Boolean)).toHaveLength(1000);
  expect(budget.enterWithToken('U')).toBe(true);
  budget.leaveWithToken('T');
  expect(budget.enterWithToken('T')).toBe(true);
});

test('joins leave room for those who are members', () => {
  const budget = createRequestBudget(noFloods);
  const enter = (verb: string) => (_: unknown, at: number) =>
    budget.enter({ agentKey: `${verb}-${at}`, verb }, 0);
  const countOf = (verb: string) =>
    Array.from({ length: 2000 }, enter(verb)).filter((place) => place === 'work').length;
  expect([countOf('join'), countOf('renew'), countOf('facts')]).toEqual([1500, 500, 0]);
});

test('a fleet that asks to leave takes no place of anybody who asks for something else', () => {
  const budget = createRequestBudget(noFloods);
  const placeOf = (agentKey: string, verb: string) => budget.enter({ agentKey, verb }, 0);
  const places = Array.from({ length: 1000 }, (_, at) => placeOf(`leaver-${at}`, 'leave'));
  expect(places.filter((place) => place === 'work')).toHaveLength(500);
  expect(Array.from({ length: 1500 }, (_, at) => placeOf(`new-${at}`, 'join'))).not.toContain('busy');
  budget.leave({ agentKey: 'leaver-0', verb: 'leave' });
  expect(placeOf('leaver-999', 'leave')).toBe('work');
});

test('who asks to leave again while it waits for its turn is not worked on again, and keeps its own places for the rest', () => {
  const budget = createRequestBudget(noFloods);
  const enter = (verb: string) => budget.enter({ agentKey: 'one', verb }, 0);
  expect(Array.from({ length: 4 }, () => enter('leave'))).toEqual(['work', 'work', 'ignore', 'ignore']);
  expect(enter('facts')).toBe('work');
});
