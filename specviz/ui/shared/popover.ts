// Where a popover is: beside the button that opened it, on the side with more space. It scrolls with the
// page.

const MARGIN = 8; // px around it

/** @param gap Pixels between the button and the popover. */
export function placeBeside(box: HTMLElement, button: HTMLElement, gap = 6) {
  const { left, top, bottom } = button.getBoundingClientRect();
  const zoom = box.currentCSSZoom ?? 1; // of larger text
  const above = top > innerHeight - bottom;
  const space = (above ? top : innerHeight - bottom) - gap - MARGIN;
  box.style.maxHeight = space / zoom + "px";
  const [width, height] = [box.offsetWidth * zoom, box.offsetHeight * zoom];
  const most = document.documentElement.clientWidth - width - MARGIN;
  const edge = above ? top - gap - height : bottom + gap;
  box.style.left = (scrollX + Math.max(MARGIN, Math.min(left, most))) / zoom + "px";
  box.style.top = (scrollY + edge) / zoom + "px";
}
