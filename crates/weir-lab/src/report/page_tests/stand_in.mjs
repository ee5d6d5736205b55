// The part of a browser that the page's script and `checks.js` use, for machines with Node and
// without a browser: elements, simple selectors, events. It lays nothing out: each picture is as
// wide as its view box, all pictures stand at the origin, and nothing overflows.
import { readFileSync } from "node:fs";

const VOID = /^(meta|br)$/;
const TOKENS = /<!--[^]*?-->|<!doctype[^>]*>|<(\/?)([\w-]+)((?:"[^"]*"|[^>"])*?)(\/?)>|([^<]+)/gi;
const decode = (text) =>
  text.replace(/&(amp|lt|gt|quot);/g, (_, name) => ({ amp: "&", lt: "<", gt: ">", quot: '"' })[name]);
const encode = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

class Text {
  constructor(text) {
    this.textContent = text;
  }
  get outerHTML() {
    return encode(this.textContent);
  }
}

class Element {
  constructor(tag) {
    Object.assign(this, { tag, attributes: {}, childNodes: [], style: {}, listeners: {} });
    this.parentElement = null;
    this.offsetWidth = 100;
  }
  get dataset() {
    const found = Object.entries(this.attributes).filter(([name]) => name.startsWith("data-"));
    return Object.fromEntries(found.map(([name, value]) => [name.slice(5), value]));
  }
  get viewBox() {
    const [x, y, width, height] = this.attributes.viewBox.split(" ").map(Number);
    return { baseVal: { x, y, width, height } };
  }
  get hidden() {
    return "hidden" in this.attributes;
  }
  set hidden(hidden) {
    if (hidden) this.attributes.hidden = "";
    else delete this.attributes.hidden;
  }
  set className(name) {
    this.attributes.class = name;
  }
  get firstChild() {
    return this.childNodes[0] || null;
  }
  get textContent() {
    return this.childNodes.map((child) => child.textContent).join("");
  }
  set textContent(text) {
    this.childNodes = text === "" ? [] : [new Text(text)];
  }
  get outerHTML() {
    const attributes = Object.entries(this.attributes);
    const words = attributes.map(([name, value]) => ` ${name}="${encode(value)}"`).join("");
    return `<${this.tag}${words}>${this.innerHTML}</${this.tag}>`;
  }
  get innerHTML() {
    return this.childNodes.map((child) => child.outerHTML).join("");
  }
  set innerHTML(html) {
    this.childNodes = [];
    parse(html, this);
  }
  getAttribute(name) {
    return name in this.attributes ? this.attributes[name] : null;
  }
  setAttribute(name, value) {
    this.attributes[name] = String(value);
  }
  removeAttribute(name) {
    delete this.attributes[name];
  }
  append(...children) {
    for (const child of children) this.insertBefore(child, null);
  }
  replaceChildren(...children) {
    this.childNodes = [];
    this.append(...children);
  }
  insertBefore(child, before) {
    const added = typeof child === "string" ? new Text(child) : child;
    added.parentElement = this;
    const place = before ? this.childNodes.indexOf(before) : this.childNodes.length;
    this.childNodes.splice(place, 0, added);
  }
  *below() {
    for (const child of this.childNodes) {
      if (child instanceof Element) yield child, yield* child.below();
    }
  }
  // Of `tag.class[attribute]` and `#id`, each part of it optional.
  is(selector) {
    const [, tag, id, name, attribute] = selector.match(
      /^([\w-]*)(?:#([\w-]+))?(?:\.([\w-]+))?(?:\[([\w-]+)\])?$/,
    );
    const classes = (this.attributes.class || "").split(" ");
    return (
      (!tag || tag === this.tag) &&
      (!id || id === this.attributes.id) &&
      (!name || classes.includes(name)) &&
      (!attribute || attribute in this.attributes)
    );
  }
  closest(selector) {
    return this.is(selector) ? this : this.parentElement && this.parentElement.closest(selector);
  }
  querySelectorAll(selector) {
    const parts = selector.split(" ");
    const last = parts.pop();
    const fits = (element) =>
      element.is(last) &&
      parts.reduceRight((at, part) => at && at.parentElement?.closest(part), element);
    return [...this.below()].filter(fits);
  }
  querySelector(selector) {
    return this.querySelectorAll(selector)[0] || null;
  }
  getBoundingClientRect() {
    const svg = this.attributes.viewBox ? this.viewBox.baseVal : { width: 100, height: 100 };
    const shown = !this.closest(".narrow");
    return { left: 0, top: 0, width: shown ? svg.width : 0, height: shown ? svg.height : 0 };
  }
  addEventListener(type, listener) {
    (this.listeners[type] ||= []).push(listener);
  }
  dispatchEvent(event) {
    for (let at = this; at; at = at.parentElement) {
      for (const listener of at.listeners[event.type] || []) listener(event);
    }
    for (const listener of everywhere[event.type] || []) listener(event);
  }
  click() {
    this.onclick();
  }
}

const parse = (html, root) => {
  let at = root;
  for (const [, close, tag, words, empty, text] of html.matchAll(TOKENS)) {
    if (text) at.append(decode(text));
    else if (close) at = at.parentElement;
    else if (tag) {
      const made = new Element(tag);
      for (const [, name, value] of words.matchAll(/([\w:-]+)(?:="([^"]*)")?/g)) {
        made.attributes[name] = decode(value || "");
      }
      at.append(made);
      if (!empty && !VOID.test(tag)) at = made;
    }
  }
};

const everywhere = {};
class Event {
  constructor(type, how) {
    Object.assign(this, how, { type });
  }
  preventDefault() {}
}

const html = readFileSync(process.argv[2], "utf8");
const scripts = [...html.matchAll(/<script>([^]*?)<\/script>/g)].map((found) => found[1]);
const root = new Element("document");
parse(html.replace(/<(script|style)>[^]*?<\/\1>/g, ""), root);
Object.assign(globalThis, {
  document: Object.assign(root, {
    createElement: (tag) => new Element(tag),
    createElementNS: (_, tag) => new Element(tag),
    documentElement: { scrollWidth: 0 },
  }),
  addEventListener: (type, listener) => (everywhere[type] ||= []).push(listener),
  getComputedStyle: () => ({ fill: "none", stroke: "black" }),
  innerWidth: 1400,
  PointerEvent: Event,
  MouseEvent: Event,
});
for (const script of scripts) new Function(script)();
console.log(`<title>${document.title}</title>`);
