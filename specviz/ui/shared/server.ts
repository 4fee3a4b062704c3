// The address of our own routes, below any root path: the script is two folders below it.

export const SERVER = new URL("../../", import.meta.url);
