// The HTML with which a course page shows a step of a recorded run in a frame. It appears below the
// link button once the link was copied, or from the menu; the visitor chooses the parts of the player.

import { CopyButton } from "../shared/copy";
import { placeBeside } from "../shared/popover";
import { required } from "../shared/required";
import { moment } from "../shared/store";
import { classes, Component, render } from "../shared/view";
import { frameAt, player } from "./state";
import { stage } from "./stage";

const BELOW = 44; // px under the button, where it says what it copied

let box: HTMLElement | null = null;
const shown: Set<string> = new Set(["sentence", "tree", "coin"]);

export function startEmbedding() {
  const link: HTMLElement | null = document.querySelector(".sv-copy");
  link?.addEventListener("click", () => {
    if (stage.element.offsetParent && canEmbed()) openEmbedding(link, BELOW);
  });
  moment.on(() => {
    if (box?.matches(":popover-open")) render(<Embedding />, box);
  });
}

/** Return whether the run on screen is one that every visitor can open. */
export const canEmbed = () => player.shown === "recorded" && player.rounds.length > 0;

/**
 * Show the HTML beside a button.
 * @param gap Pixels between both.
 */
export function openEmbedding(button: HTMLElement, gap?: number) {
  box ??= newBox();
  render(<Embedding />, box);
  box.showPopover();
  placeBeside(box, button, gap);
}

function newBox() {
  const made = document.createElement("div");
  made.className = "sv-embed";
  made.popover = "auto"; // Escape or a click elsewhere closes it
  made.setAttribute("role", "dialog");
  made.setAttribute("aria-label", "This step in another page");
  document.body.append(made);
  return made;
}

/** The address of the frame: this page's own, with the step on screen. */
function addressOfFrame() {
  const url = new URL("./", document.baseURI);
  const { id } = required(player.run);
  const { number } = player.rounds[player.at.round];
  const { step } = frameAt(player.at.round, player.at.step);
  const query = new URLSearchParams({
    embed: "1",
    trace: id,
    round: String(number),
    step: step.id,
  });
  const show = partsShown().join(",");
  url.search = query + (show && "&show=" + show);
  return url.href;
}

/** The chosen parts in the player's order; empty if the whole player is shown. */
const partsShown = () => Object.keys(stage.config.frame.parts).filter((part) => shown.has(part));

function snippet() {
  const { whole, edges, parts } = stage.config.frame;
  const heights = partsShown().map((part) => parts[part]);
  const height = heights.length ? heights.reduce((sum, each) => sum + each, edges) : whole;
  const { drafter, on } = required(player.run);
  const { label } = frameAt(player.at.round, player.at.step).caption;
  const title = `${label}: ${drafter} drafts for ${on}`;
  const values = { src: addressOfFrame(), title, width: "100%", height: String(height) };
  const attributes = Object.entries(values).map(([name, value]) => ` ${name}="${quoted(value)}"`);
  return `<iframe${attributes.join("")} style="border:1px solid #b9c1cd"></iframe>`;
}

const SIGNS: Record<string, string> = { "&": "&amp;", '"': "&quot;", "<": "&lt;" };

const quoted = (text: string) => text.replace(/[&"<]/g, (sign) => SIGNS[sign]);

class Embedding extends Component<object, object> {
  toggle(part: string) {
    if (!shown.delete(part)) shown.add(part);
    this.setState({});
  }

  render() {
    const text = snippet();
    return [
      <p>
        <b>This step in a course page</b>
      </p>,
      <fieldset>
        <legend>Parts to show (choose none to show all)</legend>
        {Object.keys(stage.config.frame.parts).map((part) => this.part(part))}
      </fieldset>,
      <textarea readOnly rows={4} aria-label="HTML of the frame" value={text} />,
      <p class="sv-embed-do">
        <CopyButton name="the HTML of the frame" text={text} />
        <a href={addressOfFrame()} target="_blank" rel="noopener">
          Preview
        </a>
      </p>,
      <p class="sv-embed-note">
        {"Other sites can show the frame if the server was started with "}
        <code>--embed-in</code>
        {" and their address."}
      </p>,
    ];
  }

  part(part: string) {
    const checked = shown.has(part);
    return (
      <label class={classes(checked && "sv-on")}>
        <input type="checkbox" checked={checked} onChange={() => this.toggle(part)} />
        {" " + part}
      </label>
    );
  }
}
