// The draft tree: the figure, and on narrow screens a list by position.

function legend(place, entries) {
  place.replaceChildren(
    ...entries.map(([term, label, sign]) => {
      const made = el("span", "sv-key sv-key-" + term, sign, label);
      made.title = meaning(term);
      return made;
    }),
  );
}

const swatch = (name) => el("i", "sv-sw sv-sw-" + name);

function legends() {
  const states = ["accepted", "rejected", "recovered", "bonus"].map((s) => [s, s, mark(s)]);
  legend($(".sv-marks"), [...states, ["unreached", "not reached", mark("unreached")]]);
  legend($(".sv-hues"), [
    ["p", "target p", swatch("p")],
    ["q", "draft q", swatch("q")],
    ["both", "both", swatch("b")],
    ["residual", "residual", swatch("r")],
  ]);
}

function showTree(tree) {
  const guesses = Object.keys(tree.nodes).length;
  const said = guesses === 1 ? "1 guess" : guesses + " guesses";
  $(".sv-sub").textContent = guesses ? "· " + said : "· nothing drafted";
  plot($(".sv-tree"), tree.figure, pickNode);
  const spoken = Object.values(tree.nodes).map((node) => flat(node.w) + " " + node.is);
  $(".sv-tree").setAttribute("aria-label", "Draft tree: " + (spoken.join(", ") || "empty"));
  const more = tree.figure.more;
  const hidden = [
    more.deeper ? "+" + more.deeper + " deeper" : "",
    more.lower ? "+" + more.lower + " on other branches" : "",
  ].filter(Boolean);
  $(".sv-read").textContent = howToRead(Object.values(tree.nodes));
  $(".sv-more").textContent = hidden.join(", ");
  $(".sv-list").replaceChildren(...positions(tree));
}

// What the bars and the edges mean; at temperature 0 p itself would tell the verdict.
function howToRead(nodes) {
  if (!nodes.length) return "";
  const drawn = nodes.some((node) => node.q !== undefined);
  if (nodes.some((node) => node.soft !== undefined)) return "Under a word: the target's softmax at temperature 1.";
  return drawn ? "Under a word: p, then q. An edge is as wide as q." : "Under a word: p. A fixed guess has no q.";
}

// One row a position: the guess that is followed, its p and q, and its siblings folded.
function positions(tree) {
  const rows = [];
  let parent = 0;
  for (let depth = 1; ; depth += 1) {
    const here = Object.entries(tree.nodes).filter(([, node]) => node.parent === parent);
    const slot = tree.slot && tree.slot.parent === parent ? tree.slot : null;
    if (!here.length && !slot) break;
    const order = ["accepted", "waiting", "unreached", "rejected"];
    const lead = [...here].sort((a, b) => order.indexOf(a[1].is) - order.indexOf(b[1].is))[0];
    rows.push(position(depth, lead && lead[1], here, slot));
    if (!lead) break;
    parent = Number(lead[0]);
  }
  return rows;
}

function position(depth, lead, here, slot) {
  const siblings = here.filter(([, node]) => node !== lead).map(([, node]) => node);
  const row = el("li", "sv-row" + (lead ? " sv-row-" + lead.is : ""), el("span", "sv-at", "+" + depth));
  row.append(lead ? chip(lead) : el("span"));
  row.append(lead ? bars(lead) : el("span"));
  const folded = el("span", "sv-sibs", ...siblings.map((node) => chip(node)));
  if (slot) folded.append(slot.w ? chip(slot) : el("span", "sv-chip sv-slot", "?"));
  row.append(folded);
  return row;
}

function bars(node) {
  const made = el("span", "sv-bars");
  for (const name of ["p", "soft", "q"]) {
    if (node[name] === undefined) continue;
    const bar = el("i", "sv-bar-" + name);
    bar.style.width = percent(node[name]);
    made.append(bar);
  }
  return made;
}
