// A link holds the scenarios and variants themselves, compressed: nothing is sent anywhere.
import { Inflate, deflateSync, strFromU8, strToU8 } from "fflate";
import type { Setting } from "../engine/types";

export interface SharedVariant {
  text: string;
  sets: Setting[];
}

export interface Shared {
  title: string;
  variants: SharedVariant[];
  /** Files that the scenarios name. */
  files: Record<string, string>;
  /** How variants are shown. */
  mode: string;
  /** What is shown of the time; null for all. */
  span: [number, number] | null;
  /** The card that it came from, whose published values are marked. */
  card: [id: string, run: string] | null;
}

const FORMAT = 1;
/** Octets of an unpacked link at most: a scenario has a few thousand. */
const MOST = 4_000_000;
export const VARIANTS = 4;

function base64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function bytesOf(text: string): Uint8Array {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

function inflate(bytes: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  let length = 0;
  const inflater = new Inflate((part) => {
    length += part.length;
    if (length > MOST) throw new Error("the link holds more than 4 MB");
    parts.push(part);
  });
  // In small pieces, so that the bound holds before much is unpacked.
  for (let at = 0; at < bytes.length; at += 512)
    inflater.push(bytes.subarray(at, at + 512), at + 512 >= bytes.length);
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function pack(shared: Shared): string {
  const texts = [...new Set(shared.variants.map(({ text }) => text))];
  const document = {
    v: FORMAT,
    n: shared.title,
    t: texts,
    w: shared.variants.map(({ text, sets }) => [texts.indexOf(text), sets]),
    ...(Object.keys(shared.files).length ? { f: shared.files } : {}),
    m: shared.mode,
    ...(shared.span ? { r: shared.span } : {}),
    ...(shared.card ? { c: shared.card } : {}),
  };
  return base64(deflateSync(strToU8(JSON.stringify(document)), { level: 9 }));
}

const isText = (value: unknown): value is string => typeof value === "string";
const isPair = (value: unknown): value is [string, string] =>
  Array.isArray(value) && value.length === 2 && value.every(isText);

/** Reads a link. Whatever is no link of this page is an error with one sentence. */
export function unpack(text: string): Shared {
  let document: Record<string, unknown>;
  try {
    document = JSON.parse(strFromU8(inflate(bytesOf(text)))) as Record<string, unknown>;
  } catch (error) {
    const why =
      error instanceof Error && error.message.includes("MB")
        ? error.message
        : "it is cut off or changed";
    throw new Error(`The link cannot be read: ${why}.`);
  }
  if (document?.v !== FORMAT)
    throw new Error("The link cannot be read: it is of another version of this page.");
  const texts = Array.isArray(document.t) ? document.t.filter(isText) : [];
  const list = Array.isArray(document.w) ? document.w.slice(0, VARIANTS) : [];
  const variants = list.map((entry): SharedVariant => {
    const [at, sets] = Array.isArray(entry) ? entry : [];
    return { text: texts[Number(at)] ?? "", sets: Array.isArray(sets) ? sets.filter(isPair) : [] };
  });
  if (!variants.length) throw new Error("The link cannot be read: it has no scenario.");
  const files = typeof document.f === "object" && document.f !== null ? document.f : {};
  const span =
    Array.isArray(document.r) && document.r.length === 2 && document.r.every(Number.isFinite)
      ? document.r
      : null;
  return {
    title: isText(document.n) ? document.n.slice(0, 200) : "Scenario",
    variants,
    files: Object.fromEntries(Object.entries(files).filter(isPair)),
    mode: isText(document.m) ? document.m : "beside",
    span: span as [number, number] | null,
    card: isPair(document.c) ? document.c : null,
  };
}
