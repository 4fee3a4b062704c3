// The line below the run: the menu that shares it (links, files, pictures, prints), and the buttons
// that open another run or present this one.

import { copyLink } from "../shared/copy";
import { pictures, Savers } from "../shared/picture";
import { placeBeside } from "../shared/popover";
import { required } from "../shared/required";
import { Button, Component, toElement } from "../shared/view";
import { canEmbed, openEmbedding } from "./embed";
import { SaveFilm } from "./film";
import { OpenRun } from "./open_run";
import { PresentButtons } from "./present";
import { SaveRun } from "./replay_file";
import { SaveRunFile } from "./run_file";
import { isSimple } from "./mode";
import { aboutMoment } from "./source_line";
import { $, stage } from "./stage";
import { WorksheetLinks } from "./worksheet";

import type { ComponentChildren } from "preact";

const ID = "sv-sharing";
type Figure = [name: string, part: string];
const SIMPLE: Figure[] = [
  ["text", ".sv-strip"],
  ["picture", ".sv-picture"],
  ["time rows", ".sv-lanes"],
];
const DETAILS: Figure[] = [
  ["text", ".sv-strip"],
  ["draft tree", ".sv-tree-part"],
  ["target pass", ".sv-pass"],
  ["coin and table", ".sv-panel"],
  ["why these guesses", ".sv-why"],
  ["timeline", ".sv-time"],
];
// What an excerpt (replay.ts) shows of these is one figure.
const EXCERPT = [
  ".sv-lanes",
  ".sv-strip",
  ".sv-caption",
  ".sv-tree-part",
  ".sv-pass",
  ".sv-panel",
  ".sv-time",
];

/** The line below the run; an excerpt only offers a picture. */
export function lineBelow() {
  if (document.body.classList.contains("sv-excerpt"))
    return pictures(aboutMoment, [["step of a run", () => EXCERPT.map((part) => $(part))]]);
  const { served } = stage.config;
  return toElement(
    <div class="sv-below">
      <p class="sv-pictures">
        <button type="button" class="sv-button" popovertarget={ID} aria-haspopup="dialog">
          Share
        </button>
        {served && OpenRun()}
      </p>
      {served && PresentButtons()}
      <ShareMenu />
    </div>,
  );
}

/** Copies the link to the step on screen, and says what the link leaves out. */
class CopyLink extends Component<object, { sentence?: string }> {
  async copy() {
    const { sentence } = await copyLink();
    this.setState({ sentence });
  }

  render() {
    return (
      <p>
        {Button("Copy the link to this step", () => this.copy(), { class: "sv-link" })}
        <span role="status">{this.state.sentence && " " + this.state.sentence}</span>
      </p>
    );
  }
}

const Group = (name: string, children: ComponentChildren) => (
  <fieldset>
    <legend>{name}</legend>
    {children}
  </fieldset>
);

class ShareMenu extends Component<object, object> {
  menu: HTMLElement | null = null;

  /** The button that opens the menu. */
  opener = () => required(stage.find(`[popovertarget=${ID}]`));

  /** Close the menu, whose button then has the focus, before something else opens. */
  leave = () => required(this.menu).hidePopover();

  toggle = ({ newState }: ToggleEvent) => {
    if (newState !== "open") return;
    this.setState({}); // another run or mode may be on screen now
    requestAnimationFrame(() => placeBeside(required(this.menu), this.opener()));
  };

  frame() {
    const show = () => {
      this.leave();
      openEmbedding(this.opener());
    };
    return <p>{Button("Show this step in a course page", show, { class: "sv-link" })}</p>;
  }

  groups() {
    const { served } = stage.config;
    return [
      <div key="run">
        {served && Group("Link", [<CopyLink key="link" />, canEmbed() && this.frame()])}
        {Group("File", [
          served && <p>{SaveRun()}</p>,
          served && <p>{SaveRunFile()}</p>,
          <SaveFilm key="film" />,
        ])}
        {served && <div onClickCapture={this.leave}>{Group("Print", WorksheetLinks())}</div>}
      </div>,
      <div key="figures">
        {Group(
          "Picture",
          (isSimple() ? SIMPLE : DETAILS).map(([name, part]) => (
            <Savers key={name} name={name} about={aboutMoment} find={() => stage.find(part)} />
          )),
        )}
      </div>,
    ];
  }

  render() {
    return (
      <div
        id={ID}
        class="sv-sharing"
        popover="auto"
        role="dialog"
        aria-label="Share this run"
        ref={(element: HTMLElement | null) => {
          this.menu = element;
        }}
        onBeforeToggle={this.toggle}
        onKeyDown={(event: KeyboardEvent) => {
          if (event.key === "Escape") event.stopPropagation(); // it closes the menu alone
        }}
      >
        {this.groups()}
      </div>
    );
  }
}
