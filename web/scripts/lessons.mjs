// Lessons: `lessons/*.md` as tokens, so that the page builds elements and never sets HTML. Front
// matter is between two lines of three dashes, `key: value` a line.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { marked } from "marked";
import { parse } from "smol-toml";

function frontMatter(text, file) {
  const found = text.match(/^\+\+\+\n([\s\S]*?)\n\+\+\+\n/);
  if (!found) throw new Error(`lessons/${file}: expected front matter between two lines +++`);
  // What the text says of runs is for the tests of the lessons, not for the page.
  const { title, about, reading = [] } = parse(found[1]);
  return [{ title, about, reading }, text.slice(found[0].length)];
}

const inline = (tokens) =>
  (tokens ?? []).map((token) => {
    const inner = token.tokens?.length
      ? { inner: inline(token.tokens) }
      : { text: plain(token.text ?? token.raw) };
    if (token.type === "link") return { type: "link", href: token.href, ...inner };
    if (token.type === "codespan") return { type: "code", text: plain(token.text) };
    if (token.type === "br") return { type: "br" };
    if (token.type === "text" && token.tokens) return { type: "span", inner: inline(token.tokens) };
    const names = { strong: "strong", em: "em", del: "del" };
    if (names[token.type]) return { type: names[token.type], ...inner };
    return { type: "text", text: plain(token.text ?? token.raw) };
  });

const plain = (text) =>
  text
    .replace(/&amp;/g, "&")
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'");

/** The question and its answer are apart by a line `answer:`. */
function question(text) {
  const [asked, answer = ""] = text.split(/\nanswer:\s*\n/);
  return {
    type: "question",
    question: blocks(marked.lexer(asked)),
    answer: blocks(marked.lexer(answer)),
  };
}

function blocks(tokens) {
  const made = [];
  for (const token of tokens) {
    if (token.type === "heading")
      made.push({ type: "heading", depth: token.depth, inner: inline(token.tokens) });
    else if (token.type === "paragraph" || token.type === "text")
      made.push({ type: "paragraph", inner: inline(token.tokens ?? [token]) });
    else if (token.type === "blockquote")
      made.push({ type: "quote", blocks: blocks(token.tokens) });
    else if (token.type === "list") {
      made.push({
        type: "list",
        ordered: token.ordered,
        items: token.items.map((item) => blocks(item.tokens)),
      });
    } else if (token.type === "table") {
      made.push({
        type: "table",
        head: token.header.map((cell) => inline(cell.tokens)),
        rows: token.rows.map((row) => row.map((cell) => inline(cell.tokens))),
      });
    } else if (token.type === "code" && token.lang === "figure") {
      made.push({ type: "figure", figure: parse(token.text) });
    } else if (token.type === "code" && token.lang === "question") made.push(question(token.text));
    else if (token.type === "code")
      made.push({ type: "code", lang: token.lang ?? "", text: token.text });
    else if (token.type === "hr") made.push({ type: "rule" });
    else if (token.type !== "space" && token.type !== "html")
      throw new Error(`lessons: ${token.type} is not shown`);
  }
  return made;
}

export function lessons(folder) {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder)
    .filter((name) => /^\d.*\.md$/.test(name))
    .sort();
  return names.map((file) => {
    const [meta, text] = frontMatter(readFileSync(new URL(file, folder), "utf8"), file);
    const made = blocks(marked.lexer(text));
    const scenarios = {};
    for (const block of made) {
      if (block.type !== "figure") continue;
      const name = block.figure.scenario;
      scenarios[name] = readFileSync(new URL(name, folder), "utf8");
    }
    return { id: file.replace(".md", ""), ...meta, blocks: made, scenarios };
  });
}
