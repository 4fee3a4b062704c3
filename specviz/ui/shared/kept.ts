// What a live section shows, kept for this visit over a reload: the server forgets a job that has
// ended, and Gradio reloads the page when a server that was unavailable responds again.

import { isReloaded } from "./job";
import { session } from "./storage";

/** Keep what a section shows whenever the page is left; null if there is nothing to keep. */
export function keep(key: string, shown: () => object | null) {
  addEventListener("pagehide", () => {
    const data = shown();
    if (data) session.set(key, JSON.stringify(data));
  });
}

/** Return what was kept, once, if the page was reloaded. */
export function takeKept<Data>(key: string): Data | null {
  const kept = session.read<Data>(key);
  session.set(key);
  return isReloaded() ? kept : null;
}
