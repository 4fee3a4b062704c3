// A script in the page's head, which runs before Gradio's scripts.
//
// Why: while the page loads, Gradio's loader counts seconds, once per animation frame. After the
// loader was removed, it continues to count (its component is destroyed while its status is still
// "pending", so nothing tells it to stop), and a page on which nothing moves uses a tenth of a
// core.
//
// How: the loader is recognized by its callback, whose source reads `performance.now()`. When the
// page is complete, its next animation frame is not requested. If another part has to be awaited
// later, its loader requests frames of its own.
//
// If Gradio changes its loader, no callback is recognized, every frame is requested as usual, and
// an idle page uses as much time as without this script. Nothing here may throw an exception.

{
  const ask = window.requestAnimationFrame.bind(window);
  const counts = (step: FrameRequestCallback) => {
    try {
      return /performance\.now\(\)/.test(`${step}`);
    } catch {
      return false;
    }
  };
  let loading = false; // whether the loader counts
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
