// The hands of the replay's clock, and whether anybody can see them.

export const hands = {
  width: 0, // of the bars as they are drawn
  moving: [], // [element, keyframes] over the whole race
  playing: false,
  due: false, // a replay starts by itself as soon as somebody can see it
  seen: false, // whether the part is in sight
};
