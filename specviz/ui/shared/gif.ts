// Animated pictures (GIF89a). Each picture after the first stores only the pixels that changed. Each
// has its own palette: all its colours if they are few, else colours that are close to all others.

const COLOURS = 256; // the number of colours in a palette
const KEPT = COLOURS - 1; // the index of a pixel that stays as it was
const BITS = 5; // the upper bits of red, green and blue that decide a colour's bucket
const BUCKETS = 1 << (3 * BITS);
const BLOCK_BYTES = 255; // the most bytes in a block of data
const CODES = 4096; // the most codes in a dictionary; a full dictionary is cleared

/** Bytes in the order in which they are written. */
class Bytes {
  all = new Uint8Array(1 << 16);
  length = 0;

  put(...values: number[]) {
    if (this.length + values.length > this.all.length) {
      const larger = new Uint8Array(2 * this.all.length);
      larger.set(this.all);
      this.all = larger;
    }
    this.all.set(values, this.length);
    this.length += values.length;
  }

  /** Writes each number as two bytes. */
  short(...values: number[]) {
    for (const value of values) this.put(value & 255, value >> 8);
  }

  text(letters: string) {
    this.put(...[...letters].map((letter) => letter.charCodeAt(0)));
  }
}

/** Makes an animated picture from pictures of one size, one at a time; it repeats without end. */
export class Gif {
  width: number;
  height: number;
  bytes = new Bytes();
  before: Uint32Array | null = null; // the picture before

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
    this.bytes.text("GIF89a");
    this.bytes.short(width, height);
    this.bytes.put(0, 0, 0); // no common palette
    this.bytes.put(0x21, 0xff, 11);
    this.bytes.text("NETSCAPE2.0");
    this.bytes.put(3, 1, 0, 0, 0);
  }

  /**
   * Adds a picture.
   * @param pixels Red, green, blue and alpha of each pixel; all are opaque.
   * @param seconds How long the picture is shown.
   */
  add(pixels: Uint8ClampedArray, seconds: number) {
    const picture = new Uint32Array(pixels.slice().buffer);
    const box = changedBox(picture, this.before, this.width) ?? [0, 0, 1, 1];
    const [left, top, width, height] = box;
    const cut = new Uint32Array(width * height);
    const stays: Uint8Array | null = this.before && new Uint8Array(width * height);
    for (let y = 0; y < height; y += 1)
      for (let x = 0; x < width; x += 1) {
        const [here, at] = [y * width + x, (top + y) * this.width + left + x];
        cut[here] = picture[at];
        if (stays && this.before) stays[here] = Number(picture[at] === this.before[at]);
      }
    const { palette, indices } = indexed(cut, stays);
    this.bytes.put(0x21, 0xf9, 4, (1 << 2) | Number(stays !== null)); // stays on screen afterwards
    this.bytes.short(Math.round(100 * seconds));
    this.bytes.put(KEPT, 0, 0x2c);
    this.bytes.short(left, top, width, height);
    this.bytes.put(0x87); // with a palette of 256 colours
    for (const colour of palette) this.bytes.put(colour & 255, (colour >> 8) & 255, colour >> 16);
    compress(indices, this.bytes);
    this.before = picture;
  }

  /** The whole file. */
  blob() {
    this.bytes.put(0x3b);
    return new Blob([this.bytes.all.slice(0, this.bytes.length)], { type: "image/gif" });
  }
}

/**
 * The part of a picture that differs from the one before: left, top, width, height.
 * @returns null if nothing differs.
 */
function changedBox(
  picture: Uint32Array,
  before: Uint32Array | null,
  width: number,
): [number, number, number, number] | null {
  if (!before) return [0, 0, width, picture.length / width];
  let [left, right, first, last] = [width, -1, -1, -1];
  for (let at = 0; at < picture.length; at += 1) {
    if (picture[at] === before[at]) continue;
    const x = at % width;
    if (first < 0) first = at;
    last = at;
    if (x < left) left = x;
    if (x > right) right = x;
  }
  if (first < 0) return null;
  const top = Math.floor(first / width);
  return [left, top, right - left + 1, Math.floor(last / width) - top + 1];
}

/**
 * A colour's bucket: its upper bits.
 * @param colour Blue, green, red, from above.
 */
const bucketOf = (colour: number) =>
  ((colour & 0xf8) << 7) | ((colour & 0xf800) >> 6) | ((colour & 0xf80000) >> 19);

function distance(one: number, other: number) {
  const red = (one & 255) - (other & 255);
  const green = ((one >> 8) & 255) - ((other >> 8) & 255);
  const blue = (one >> 16) - (other >> 16);
  return red * red + green * green + blue * blue;
}

/**
 * Pixels as indices of a palette.
 * @param stays Which pixels stay as they were.
 */
function indexed(pixels: Uint32Array, stays: Uint8Array | null) {
  const known = new Map(exactColours(pixels, stays).map((colour, index) => [colour, index]));
  let indexOf: (colour: number) => number = (colour) => known.get(colour) as number;
  let palette = [...known.keys()];
  if (palette.length > KEPT) {
    const buckets = countBuckets(pixels, stays);
    palette = chosenColours(buckets);
    const nearest = nearestIndices(buckets, palette);
    const exact = new Map(palette.map((colour, index) => [colour, index]));
    indexOf = (colour) => exact.get(colour) ?? nearest[bucketOf(colour)];
  }
  const indices = new Uint8Array(pixels.length);
  for (let at = 0; at < pixels.length; at += 1)
    indices[at] = stays?.[at] ? KEPT : indexOf(pixels[at] & 0xffffff);
  return { palette: [...palette, ...Array(COLOURS - palette.length).fill(0)], indices };
}

/** The colours of the pixels that change. Stops when there are too many for a palette. */
function exactColours(pixels: Uint32Array, stays: Uint8Array | null) {
  const found: Set<number> = new Set();
  for (let at = 0; at < pixels.length && found.size <= KEPT; at += 1)
    if (!stays?.[at]) found.add(pixels[at] & 0xffffff);
  return [...found];
}

/** colours: a frequent colour of each bucket. counts: how many pixels each bucket has. */
export type Buckets = { colours: Uint32Array; counts: Uint32Array; used: number[] };

function countBuckets(pixels: Uint32Array, stays: Uint8Array | null): Buckets {
  const colours = new Uint32Array(BUCKETS);
  const counts = new Uint32Array(BUCKETS);
  const lead = new Int32Array(BUCKETS); // votes for a bucket's colour minus votes against it
  for (let at = 0; at < pixels.length; at += 1) {
    if (stays?.[at]) continue;
    const colour = pixels[at] & 0xffffff;
    const bucket = bucketOf(colour);
    counts[bucket] += 1;
    if (lead[bucket] === 0) colours[bucket] = colour;
    lead[bucket] += colours[bucket] === colour ? 1 : -1;
  }
  const used = Array.from({ length: BUCKETS }, (_, bucket) => bucket).filter((b) => counts[b]);
  return { colours, counts, used };
}

// Always adds the colour that the palette so far represents worst (its distance times its number of
// pixels). So a small mark in a colour of its own keeps its colour.
function chosenColours({ colours, counts, used }: Buckets) {
  const error = used.map((bucket) => counts[bucket] * 255);
  const far = used.map(() => Number.POSITIVE_INFINITY);
  const chosen: number[] = [];
  while (chosen.length < Math.min(KEPT, used.length)) {
    const best = error.indexOf(error.reduce((one, other) => Math.max(one, other)));
    chosen.push(colours[used[best]]);
    used.forEach((bucket, at) => {
      far[at] = Math.min(far[at], distance(colours[bucket], colours[used[best]]));
      error[at] = far[at] * counts[bucket];
    });
    if (error.every((each) => each === 0)) break;
  }
  return chosen;
}

/** The index of the nearest palette colour for each bucket. */
function nearestIndices({ colours, used }: Buckets, palette: number[]) {
  const found = new Uint8Array(BUCKETS);
  for (const bucket of used) {
    const far = palette.map((colour) => distance(colour, colours[bucket]));
    found[bucket] = far.indexOf(Math.min(...far));
  }
  return found;
}

/** Writes indices, compressed by the LZW method. */
function compress(indices: Uint8Array, bytes: Bytes) {
  const clear = COLOURS;
  const next = new Uint16Array(CODES * COLOURS); // the code of a known code followed by an index
  let block: number[] = [];
  let [bits, held] = [0, 0]; // bits that are not yet written, and their number
  let [size, last] = [9, clear + 1]; // the bits of a code; the last code given
  const flush = () => {
    bytes.put(block.length, ...block);
    block = [];
  };
  const write = (code: number) => {
    bits |= code << held;
    held += size;
    for (; held >= 8; held -= 8, bits >>>= 8) {
      block.push(bits & 255);
      if (block.length === BLOCK_BYTES) flush();
    }
  };
  bytes.put(8);
  write(clear);
  let code = indices[0];
  for (let at = 1; at < indices.length; at += 1) {
    const key = code * COLOURS + indices[at];
    if (next[key]) {
      code = next[key];
      continue;
    }
    write(code);
    code = indices[at];
    last += 1;
    if (last === CODES) {
      write(clear);
      next.fill(0);
      [size, last] = [9, clear + 1];
    } else {
      next[key] = last;
      if (last === 1 << size) size += 1;
    }
  }
  write(code);
  if (last + 1 === 1 << size && size < 12) size += 1; // a decoder does so, too
  write(clear + 1);
  if (held) block.push(bits & 255);
  if (block.length) flush();
  bytes.put(0);
}
