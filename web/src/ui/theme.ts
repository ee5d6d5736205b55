// The theme: the system's, or the one that the switch of the page has set.
import { palette } from "../generated/palette";

export type Scheme = "light" | "dark";
const KEY = "weir-theme";

const system = () => matchMedia("(prefers-color-scheme: dark)");

/** Storage may be forbidden, as in a private window. */
function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function scheme(): Scheme {
  const set = document.documentElement.dataset.theme;
  if (set === "light" || set === "dark") return set;
  return system().matches ? "dark" : "light";
}

const listeners = new Set<() => void>();

/** Calls back when the colours change; the result ends this. */
export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function startTheme(): void {
  const set = stored();
  if (set === "light" || set === "dark") document.documentElement.dataset.theme = set;
  system().addEventListener("change", () => listeners.forEach((listener) => listener()));
}

export function switchTheme(): void {
  const next = scheme() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // The switch then holds until the page is left.
  }
  listeners.forEach((listener) => listener());
}

export function colours(which: Scheme = scheme()) {
  return palette[which];
}

/** The colour with this number: flows and curves, from `firstBound` bounds, then rules. */
export function colour(number: number, which: Scheme = scheme()): string {
  const list = palette[which].colours;
  const { firstLimit } = palette;
  const at =
    number < firstLimit
      ? number
      : firstLimit + ((number - firstLimit) % (list.length - firstLimit));
  return list[at] ?? list[0]!;
}
