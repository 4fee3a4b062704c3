// What the tab's sections share.

/** A position that was looked at live. */
export interface Handed {
  place: string;
  title: string;
}
