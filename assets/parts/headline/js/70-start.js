// Everything is here already; choosing only shows it otherwise.

function start() {
  options($(".sv-headline-family"), [["", "all"], ...families().map((name) => [name, name])]);
  options($(".sv-headline-sort"), ORDERS);
  boardChoices();
  for (const name of ["family", "sort"]) $(".sv-headline-" + name).addEventListener("change", published);
  $(".sv-headline-device").addEventListener("change", board);
  $(".sv-headline-toggle").addEventListener("click", toggle);
  published();
  evidence();
  board();
  ours();
}

start();
