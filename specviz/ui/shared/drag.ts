// Bars that are dragged. A finger that moves up or down scrolls the page (touch-action: pan-y), so it
// drags a bar by moving sideways first.

/** Whether the reader has no mouse, so that bars are dragged sideways. */
export const dragsSideways = () => matchMedia("(pointer: coarse)").matches;

type Point = { clientX: number; clientY: number; pointerType: string };

/** Return by how many pixels a bar is raised: up, and with a finger also to the right. */
export const raisedBy = (from: Point, to: Point) =>
  from.clientY - to.clientY + (to.pointerType === "touch" ? to.clientX - from.clientX : 0);
