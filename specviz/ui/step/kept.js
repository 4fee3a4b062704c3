// A live run that had not ended when the page was reloaded (Gradio reloads by itself once a server
// that was away answers again): its rounds are kept for the visit and shown again.

import { notice } from "./live.js";
import { now } from "./now.js";
import { feed, reel } from "./reel.js";

const KEY = "sv-unfinished";
const TOLD = "The page was reloaded before the run ended. Finished rounds are kept; run it again.";

export function keepUnfinished() {
  addEventListener("pagehide", () => {
    if (now.shown !== "live" || reel.finished || !reel.rounds.length) return;
    try {
      sessionStorage.setItem(KEY, reel.text);
    } catch {
      // More than a browser keeps, or a page in a frame that may keep nothing: as usual then.
    }
  });
}

// Shows the kept run, once. Returns whether there was one.
export function showUnfinished() {
  const text = taken();
  if (!text) return false;
  feed(text);
  notice(TOLD);
  return true;
}

// The kept text, if the page was reloaded; a link, even in the same tab, leads elsewhere. The address
// cannot tell, since it follows the steps with a delay.
function taken() {
  try {
    const text = sessionStorage.getItem(KEY) ?? "";
    sessionStorage.removeItem(KEY);
    return anew() ? text : "";
  } catch {
    return ""; // A page in a frame may be denied all storage.
  }
}

function anew() {
  const [arrival] = performance.getEntriesByType("navigation");
  return arrival instanceof PerformanceNavigationTiming && arrival.type === "reload";
}
