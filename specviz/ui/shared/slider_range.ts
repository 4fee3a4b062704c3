// A number typed beside a slider that is beyond the slider's ends: Gradio would send it, and the
// server would refuse it with an error. Here it stays in the page with a sentence, and what is shown
// is dimmed, since it belongs to another number. When the visitor leaves the field, it gets the
// nearest end, and the sentence says so until the next number.

import { sliderBeside } from "./gradio";

const HINT = "sv-beyond"; // the sentence
const STALE = "sv-stale"; // the tab whose results belong to other values

export function checkRanges() {
  window.addEventListener("input", typed, true);
  window.addEventListener("change", left, true);
}

function typed(event: Event) {
  const found = sliderBeside(event.target);
  if (!found) return;
  const { field, slider, place } = found;
  const beyond = field.value !== "" && nearest(field, slider) !== field.valueAsNumber;
  if (beyond) event.stopImmediatePropagation();
  say(place, "");
  place.closest("[role=tabpanel]")?.classList.toggle(STALE, beyond);
  field.setAttribute("aria-invalid", String(beyond));
  if (!beyond) return;
  say(
    place,
    `This must be a number from ${slider.min} to ${slider.max}. The results are for the number before.`,
  );
}

function say(place: HTMLElement, sentence: string) {
  place.querySelector("." + HINT)?.remove();
  if (!sentence) return;
  const hint = document.createElement("p");
  hint.className = HINT;
  hint.setAttribute("role", "status");
  hint.textContent = sentence;
  place.append(hint);
}

function left(event: Event) {
  const found = sliderBeside(event.target);
  if (found?.field.getAttribute("aria-invalid") !== "true") return;
  const { field, slider, place } = found;
  const given = field.value;
  field.value = String(nearest(field, slider));
  field.dispatchEvent(new Event("input", { bubbles: true }));
  say(
    place,
    `${given} is not from ${slider.min} to ${slider.max}, so it was replaced by ${field.value}.`,
  );
}

const nearest = (field: HTMLInputElement, slider: HTMLInputElement) =>
  Math.min(Math.max(field.valueAsNumber, Number(slider.min)), Number(slider.max));
