// The ring around the element that the tour or a lesson is about.

/** @param selector The first element that is on screen gets the ring: Simple and Details differ. */
export function ring(selector: string | null) {
  for (const one of document.querySelectorAll(".sv-ringed")) one.classList.remove("sv-ringed");
  const find = (name: string) => [...document.querySelectorAll<HTMLElement>(name)];
  let all = selector ? find(selector) : [];
  if (selector && !all.length) all = find(selector.split(" ")[0]); // what it is in is still empty
  const ringed = all.find((each) => each.checkVisibility()) ?? all[0];
  if (!ringed) return;
  ringed.classList.add("sv-ringed");
  clear(ringed);
}

const ABOVE = 6; // px above a card that stays in the window
const AROUND = 9; // px between the ringed element and the card or the dock: the ring's width

// Scroll so that an element is covered neither by the tour's card nor by the bar at the window's
// end. An element that is too tall begins below the card; so does the timeline, since the panel
// above it may be almost empty.
function clear(element: HTMLElement) {
  if (element.closest(".sv-dock")) return; // always in the window
  const isSticky = getComputedStyle(element).position === "sticky";
  if (isSticky && element.getBoundingClientRect().bottom <= innerHeight) return;
  const height = (name: string) => {
    const all = document.querySelectorAll(name);
    return [...all].reduce((most, each) => Math.max(most, each.getBoundingClientRect().height), 0);
  };
  // Around a lesson are its plan and its vote; its margin is in the height.
  const card = ABOVE + Math.max(height(".sv-tour") + AROUND, height("#sv-lesson"));
  const isTimeline = element.closest(".sv-time") !== null;
  const timeline =
    isTimeline || document.querySelector(".sv")?.matches(".sv-one") ? 0 : height(".sv-time");
  const dock = Math.max(height(".sv-dock"), height(".sv-buttons")) + timeline + AROUND;
  const room = innerHeight - card - dock;
  const box = element.getBoundingClientRect();
  const above = isTimeline ? 0 : aboveOf(element, box, room);
  const zoom = element.currentCSSZoom ?? 1;
  element.style.scrollMargin = `${(card + above) / zoom}px 0 ${dock / zoom}px`;
  const fits = box.height + above <= room;
  element.scrollIntoView({
    block: fits && !isTimeline ? "nearest" : "start",
    behavior: "auto",
  });
  element.style.scrollMargin = "";
}

const LEAST = 150; // px of an element too tall for the window that are worth the sentence above it

// Return by how much the sentence of the step begins above the element, if there is room for both.
function aboveOf(element: Element, { top, height }: DOMRect, room: number) {
  const caption = element.closest(".sv")?.querySelector(".sv-caption");
  if (!caption?.checkVisibility()) return 0;
  const above = top - caption.getBoundingClientRect().top;
  return above > 0 && above + (height <= room ? height : LEAST) <= room ? above : 0;
}

const SETTLING = 3000; // ms without a change of the page’s size, after which a tab is filled
let settling: AbortController | null = null;

// Put a ring around an element, and scroll to it again while its tab is still being filled, until
// the reader does something.
/** @param selector "" for nothing. */
export function ringUntilSettled(selector: string) {
  settling?.abort();
  if (!selector) return ring(null);
  settling = new AbortController();
  const { signal } = settling;
  let timer = 0;
  const observer = new ResizeObserver(() => {
    ring(selector);
    clearTimeout(timer);
    timer = setTimeout(finish, SETTLING);
  });
  const finish = () => {
    if (!signal.aborted) ring(selector); // another part of the page may have scrolled meanwhile
    observer.disconnect();
  };
  observer.observe(document.body); // which calls it at once
  signal.addEventListener("abort", () => observer.disconnect());
  const stop = () => settling?.abort();
  for (const name of ["wheel", "pointerdown", "keydown", "touchmove"])
    window.addEventListener(name, stop, { signal, passive: true });
  return undefined;
}
