// Texts that the browser keeps for this visit (`session`) or for later ones (`local`). A page in a
// frame may not be allowed any storage, and a text may be too long; then nothing is kept.

const keeper = (storage: () => Storage) => ({
  get(key: string) {
    try {
      return storage().getItem(key);
    } catch {
      return null;
    }
  },
  /** Return the data that was kept as JSON; null if there is none, or if the text is not ours. */
  read<Data>(key: string): Data | null {
    try {
      return JSON.parse(storage().getItem(key) ?? "null");
    } catch {
      return null;
    }
  },
  /** Keep a text, or forget it if there is none. */
  set(key: string, text?: string) {
    try {
      if (text === undefined) storage().removeItem(key);
      else storage().setItem(key, text);
    } catch {
      // Without storage, everything else works.
    }
  },
});

export const session = keeper(() => sessionStorage);
export const local = keeper(() => localStorage);

/** Return 128 random bits as text. */
export const randomKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
