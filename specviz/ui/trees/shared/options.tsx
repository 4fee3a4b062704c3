// The lists of positions and shapes.

export const Options = (rows: [value: string, title: string][], chosen: string) =>
  rows.map(([value, title]) => (
    <option key={value} value={value} selected={value === chosen}>
      {title}
    </option>
  ));
