// What runs before Gradio does, in the page's head.
//
// While the page loads, Gradio's loader counts its seconds, a frame at a time; taken away, it counts
// on (its component is destroyed while its status is still "pending", so nothing tells it to stop),
// and a page on which nothing moves keeps a tenth of a core awake. Its next frame, once the page
// stands, is not asked for. A part that is waited for later counts with frames of its own.

{
  const ask = window.requestAnimationFrame.bind(window);
  const counts = (/** @type {FrameRequestCallback} */ step) =>
    /performance\.now\(\)/.test(`${step}`);
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
