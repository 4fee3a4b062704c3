// What runs before Gradio does, in the page's head.
//
// Why: while the page loads, Gradio's loader counts its seconds, a frame at a time. Once it is taken
// away it counts on (its component is destroyed while its status is still "pending", so nothing tells
// it to stop), and a page on which nothing moves keeps a tenth of a core busy.
//
// How: the loader is known by its callback, whose source reads `performance.now()`. Its next frame,
// once the page stands, is not asked for. A part that is waited for later counts with frames of its
// own.
//
// If Gradio changes its loader, no callback is known by that, every frame is asked for as ever, and
// an idle page costs what it costs without this script. Nothing here may throw.

{
  const ask = window.requestAnimationFrame.bind(window);
  /** @param {FrameRequestCallback} step */
  const counts = (step) => {
    try {
      return /performance\.now\(\)/.test(`${step}`);
    } catch {
      return false;
    }
  };
  let loading = false; // the loader counts
  window.requestAnimationFrame = (step) => {
    if (!counts(step)) return ask(step);
    const stands = document.getElementById("sv-brand") !== null;
    if (stands && loading) {
      loading = false;
      return 0;
    }
    loading = !stands;
    return ask(step);
  };
}
