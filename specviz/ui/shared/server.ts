// The address of our own routes, below any root path: the script is two folders below it.

export const SERVER = new URL("../../", import.meta.url);

const LOCAL = ["127.0.0.1", "localhost", "[::1]"]; // names of a machine for itself alone

/** Return whether no other machine can open the page's address. */
export const isLocal = () => LOCAL.includes(location.hostname);
