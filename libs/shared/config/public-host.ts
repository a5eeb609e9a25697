/** A host as it stands in an address. Charts have it too, so it is one that Go knows. */
export const publicHostPattern = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/;
