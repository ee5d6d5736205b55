// Walks the JSON Schema of the scenario along the keys of a scenario. Tables that come in kinds
// (`kind = "codel"`) are told apart by the kind that stands in them.

export interface Node {
  $ref?: string;
  type?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  oneOf?: Node[];
  anyOf?: Node[];
  properties?: Record<string, Node>;
  items?: Node;
  required?: string[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  examples?: unknown[];
  "x-unit"?: string;
}

export interface Schema extends Node {
  $defs: Record<string, Node>;
}

/** One way to write a value; `description` of a reference stays with the key that names it. */
export function resolve(schema: Schema, node: Node): Node {
  if (!node.$ref) return node;
  const target = schema.$defs[node.$ref.replace("#/$defs/", "")] ?? {};
  const { $ref: _, ...own } = node;
  return { ...resolve(schema, target), ...own };
}

const alternatives = (schema: Schema, node: Node): Node[] => {
  const found = resolve(schema, node);
  const list = found.oneOf ?? found.anyOf;
  return list ? list.flatMap((each) => alternatives(schema, each)) : [found];
};

const kindOf = (schema: Schema, node: Node) => {
  const kind = node.properties?.kind;
  return kind ? resolve(schema, kind).const : undefined;
};

/** The tables that may stand at a node: all kinds, or the one that is named. */
export function tables(schema: Schema, node: Node, kind?: unknown): Node[] {
  const all = alternatives(schema, node).filter((each) => each.properties);
  if (kind === undefined) return all;
  const named = all.filter((each) => kindOf(schema, each) === kind);
  return named.length ? named : all;
}

export interface Kind {
  name: string;
  description: string;
  table: Node;
}

/** The kinds of a table, if it comes in kinds. */
export function kinds(schema: Schema, node: Node): Kind[] {
  return tables(schema, node).flatMap((table) => {
    const name = kindOf(schema, table);
    return typeof name === "string" ? [{ name, description: table.description ?? "", table }] : [];
  });
}

export interface Option {
  value: string;
  description: string;
}

/** The words that a value may be, with what each means. */
export function options(schema: Schema, node: Node): Option[] {
  return alternatives(schema, node).flatMap((each) => {
    const description = each.description ?? "";
    if (each.const !== undefined) return [{ value: String(each.const), description }];
    return (each.enum ?? []).map((value) => ({ value: String(value), description: "" }));
  });
}

/** The numbers that a value may be, if it may be one; quantities are words with a unit. */
export function numeric(schema: Schema, node: Node): Node | null {
  return (
    alternatives(schema, node).find((each) => each.type === "number" || each.type === "integer") ??
    null
  );
}

export type Step = string | number;

/**
 * The node of a key: `["link", 0, "queue", "limit"]`. `kindAt` says which kind a table on the way
 * has; the names of entries are indices here.
 */
export function nodeAt(
  schema: Schema,
  steps: Step[],
  kindAt: (steps: Step[]) => unknown,
): Node | null {
  let node: Node = schema;
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index]!;
    if (typeof step === "number") {
      const list = alternatives(schema, node).find((each) => each.items);
      if (!list?.items) return null;
      node = list.items;
      continue;
    }
    const found = tables(schema, node, kindAt(steps.slice(0, index))).find(
      (table) => table.properties?.[step],
    );
    if (!found) return null;
    node = found.properties![step]!;
  }
  return node;
}
