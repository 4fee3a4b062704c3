// What to do after a run has ended: run it live, race drafters, choose another drafter.

import { byId, el } from "../shared/dom.js";
import { fieldOf } from "../shared/gradio.js";
import { openTab } from "../shared/tabs.js";
import { there } from "../shared/there.js";
import { answerButton, part } from "./caption.js";
import { reel } from "./reel.js";
import { $ } from "./stage.js";

/** @import { Source } from "../shared/data.js" */
/** @import { Part } from "./data.js" */

/** The end of a run in the inspector: where its time went, and what to do next.
 * @param {Part[]} [times] */
export function showEnd(times = []) {
  $(".sv-title").replaceChildren("The run");
  const said = el("p", "sv-times-said", ...times.map(part));
  $(".sv-facts").replaceChildren(said, whatNow(there(reel.run).source));
}

/** @param {Source} source */
function whatNow(source) {
  const again = source === "recorded" ? "Run it live" : "Run it again";
  return el(
    "div",
    "sv-what-now",
    el("b", "", "What next?"),
    answerButton(again, () => byId("sv-go")?.click()),
    answerButton("Race drafters", () => openTab("Compare")),
    answerButton("Choose another drafter", chooseDrafter),
  );
}

function chooseDrafter() {
  if (!document.body.classList.contains("sv-drawer-open"))
    byId("sv-settings")?.querySelector("button")?.click();
  const field = fieldOf("sv-method");
  field?.scrollIntoView({ block: "center" });
  field?.focus();
}
