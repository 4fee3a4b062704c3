// Presenter mode: larger text and the run alone, for a projector. Escape leaves it.

import { Button, h, toElement } from "../shared/view.js";

const { classList } = document.body;
let wasLarge = false; // before it began

export const isPresenting = () => classList.contains("sv-presents");

export const presentButton = () =>
  toElement(
    h(
      "p",
      { class: "sv-pictures" },
      Button("Present", begin, {
        class: "sv-link",
        title: "Larger text and the run alone; Escape leaves",
      }),
    ),
  );

function begin() {
  if (isPresenting()) return;
  wasLarge = classList.contains("sv-large");
  classList.add("sv-presents", "sv-large");
  address("1");
  scrollTo(0, 0);
}

function leave() {
  classList.remove("sv-presents");
  classList.toggle("sv-large", wasLarge);
  address("");
}

// A page that is reloaded, or a link that is copied, presents, too.
/** @param {string} value */
function address(value) {
  const url = new URL(location.href);
  if (value) url.searchParams.set("present", value);
  else url.searchParams.delete("present");
  history.replaceState(history.state, "", url);
  window.dispatchEvent(new Event("resize"));
}

/** @param {boolean} linked Whether the page's address asks for it. */
export function startPresenting(linked) {
  document.addEventListener("keydown", ({ key, defaultPrevented }) => {
    if (
      key === "Escape" &&
      isPresenting() &&
      !defaultPrevented &&
      !document.querySelector("dialog[open]")
    )
      leave();
  });
  if (linked) begin();
}
