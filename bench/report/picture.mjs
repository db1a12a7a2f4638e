/** Renders a run as SVG: a bar for the throughput of each row, and the ratios with their goals. */
import { shown } from "./table.mjs";

const [WIDTH, LABELS, LINE, BAR] = [960, 420, 24, 14];

export function picture({ rows, ratios, date }) {
  const bars = rows.filter(({ figures }) => figures.perSecond > 0);
  const most = Math.max(...bars.map(({ figures }) => figures.perSecond), 1);
  const lines = [
    title(`Operations per second, ${date.slice(0, 10)}`),
    ...bars.map(({ name, figures }) => bar(name, figures.perSecond, figures.perSecond / most, "#3b6ea5")),
    title("Ratios: the bar is what was reached of the goal"),
    ...ratios.filter(({ met }) => met !== undefined).map(goalBar),
  ];
  const height = LINE * (lines.length + 1);
  const drawn = lines.map((line, i) => `<g transform="translate(16,${LINE * (i + 1)})">${line}</g>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="13">
<rect width="100%" height="100%" fill="white"/>
${drawn.join("\n")}
</svg>
`;
}

/** A bar up to the goal is full: of what should be large its share, of what should be small the reverse. */
function goalBar({ name, value, atLeast, atMost, met }) {
  const part = atLeast === undefined ? atMost / value : value / atLeast;
  const goal = atLeast === undefined ? `at most ${shown(atMost)}` : `at least ${shown(atLeast)}`;
  return bar(`${name} (${goal})`, value, Math.min(1, part), met ? "#3f8f4f" : "#b5533c");
}

const title = (text) => `<text y="${BAR}" font-weight="bold">${escaped(text)}</text>`;

function bar(name, value, part, colour) {
  const width = Math.max(1, Math.round(part * (WIDTH - LABELS - 120)));
  const label = `<text y="${BAR - 2}">${escaped(name)}</text>`;
  const rectangle = `<rect x="${LABELS}" width="${width}" height="${BAR}" fill="${colour}"/>`;
  return `${label}${rectangle}<text x="${LABELS + width + 6}" y="${BAR - 2}">${shown(value)}</text>`;
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
