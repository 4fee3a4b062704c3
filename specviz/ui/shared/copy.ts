// Buttons that copy the link to what is on screen, or a text. (Each tab keeps its own state in the
// page's address, or adds it when a link is about to be copied.)

import { required } from "./required";
import { link } from "./store";
import { Button, Component } from "./view";

const SHOWN = 1600; // ms for which a button shows the result of a click
const NOTED = 5000; // the same for a sentence of several words

export function startCopy(button: Element) {
  const label = required(button.querySelector("span"));
  const before = label.textContent;
  let shown = 0; // the timer until the button has its label again
  button.addEventListener("click", async () => {
    const { sentence, note } = await copyLink();
    label.textContent = sentence;
    button.classList.add("sv-said-so");
    clearTimeout(shown);
    shown = setTimeout(
      () => {
        label.textContent = before;
        button.classList.remove("sv-said-so");
      },
      note ? NOTED : SHOWN,
    );
  });
}

/**
 * Copy the link to what is on screen.
 * @returns What to tell the visitor, and the part of it that says what the link leaves out.
 */
export async function copyLink() {
  link.set({ problem: "", note: "", without: [] });
  const { problem, note, without } = link.value; // as completed by the tab that is open
  const url = new URL(location.href);
  for (const key of without) url.searchParams.delete(key);
  const copied = !problem && (await copy(url.href));
  const done = copied ? "Link copied" : "Copy the address above";
  const sentence = problem || [done, note].filter(Boolean).join(". ");
  return { sentence, note };
}

/** A button that copies a text; `name` is the text's name for screen readers. */
export class CopyButton extends Component<{ name: string; text: string }, { label?: string }> {
  async copy() {
    this.setState({ label: (await copy(this.props.text)) ? "Copied" : "Select it and copy" });
    setTimeout(() => this.setState({ label: undefined }), SHOWN);
  }

  render() {
    return Button(this.state.label ?? "Copy", () => this.copy(), {
      class: "sv-link sv-copy-text",
      "aria-label": "Copy " + this.props.name,
    });
  }
}

// A page in a frame, or one without HTTPS, may not write to the clipboard.
const copy = (text: string) =>
  navigator.clipboard
    ? navigator.clipboard.writeText(text).then(
        () => true,
        () => false,
      )
    : Promise.resolve(false);
