// Elements with attributes and children. Text is always text: nothing here reads HTML.

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, unknown>;

/** Sets attributes; `on…` adds a listener, `class` and `data-…` are attributes, `style` is not used. */
function assign(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener);
    } else if (name === "value" && "value" in element) {
      (element as HTMLInputElement).value = String(value);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

function append(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  assign(element, attributes);
  append(element, children);
  return element;
}

export function svg(name: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  assign(element, attributes);
  append(element, children);
  return element;
}

/** A button that is no submit button. */
export function button(
  label: string,
  onclick: () => void,
  attributes: Attributes = {},
): HTMLButtonElement {
  return h("button", { type: "button", onclick, ...attributes }, label);
}

/** Sets the colour of a swatch through the style object, which the content security policy allows. */
export function swatch(colour: string, dash = 0, stripes = 0): HTMLElement {
  const look = dash ? " dashed" : stripes ? ` stripes${stripes}` : "";
  const made = h("i", { class: `swatch${look}`, "aria-hidden": "true" });
  made.style.setProperty("--colour", colour);
  return made;
}
