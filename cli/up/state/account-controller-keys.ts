import { agentsAccountClaims, type HubKeys } from '@rollcall/shared/rights';

/** What the account-controller is told of keys: rights as well, so that one of another version keeps to those of whoever holds the keys. */
export const accountControllerKeys = (keys: HubKeys) => ({
  hubKeys: keys,
  agentsAccount: agentsAccountClaims(keys, {}),
});
